-- Creates the missing log totals of the executions that exist and sets the time of all of them to
-- ?2; ?1 is a JSON array of execution ids.
INSERT INTO log_total (execution_id, position, bytes, last_at)
SELECT execution_id, 0, 0, ?2
FROM execution
WHERE execution_id IN (SELECT value FROM json_each(?1))
ON CONFLICT (execution_id) DO UPDATE SET last_at = excluded.last_at
RETURNING execution_id, position, bytes, last_at
