-- Marks the ?2 holders of limit ?1 that have had their slot longest as ending.
UPDATE slot
SET is_ending = 1, is_answered = 0
WHERE (limit_name, execution_id, command_id) IN (
    SELECT limit_name, execution_id, command_id
    FROM slot
    WHERE limit_name = ?1 AND granted_at IS NOT NULL AND is_ending = 0
    ORDER BY granted_at, execution_id, command_id
    LIMIT +?2
)
RETURNING limit_name, execution_id, command_id
