-- Selects at most $4 slots that are held, after limit $1, execution $2 and command $3.
SELECT
    limit_name, execution_id, command_id, priority, on_conflict, asked_at, granted_at, is_ending
FROM noetl.slot
WHERE
    granted_at IS NOT NULL
    AND (limit_name, execution_id, command_id) > ($1, $2, $3)
ORDER BY limit_name, execution_id, command_id
LIMIT $4
