-- Marks the $2 holders of limit $1 that have had their slot longest as ending.
UPDATE noetl.slot
SET is_ending = true, is_answered = false
FROM (
    SELECT limit_name, execution_id, command_id
    FROM noetl.slot
    WHERE limit_name = $1 AND granted_at IS NOT NULL AND NOT is_ending
    ORDER BY granted_at, execution_id, command_id
    LIMIT $2
) AS oldest
WHERE
    slot.limit_name = oldest.limit_name
    AND slot.execution_id = oldest.execution_id
    AND slot.command_id = oldest.command_id
RETURNING slot.limit_name, slot.execution_id, slot.command_id
