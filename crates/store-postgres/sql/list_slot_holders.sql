-- Selects the first $2 holders of limit $1, longest held first.
SELECT
    limit_name, execution_id, command_id, priority, on_conflict, asked_at, granted_at, is_ending
FROM noetl.slot
WHERE limit_name = $1 AND granted_at IS NOT NULL
ORDER BY granted_at, execution_id, command_id
LIMIT $2
