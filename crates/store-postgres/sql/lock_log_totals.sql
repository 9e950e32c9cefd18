-- Creates the missing log totals of the executions $1 that exist, locks all of them in the order of
-- their ids, and sets their time to $2, or to the database clock. The commit does not wait for the
-- disk: the worker's report repeats a small output.
INSERT INTO noetl.log_total (execution_id, position, bytes, last_at)
SELECT execution_id, 0, 0, coalesce($2, clock_timestamp())
FROM noetl.execution
WHERE
    execution_id = ANY($1::bigint[])
    AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
ORDER BY execution_id
ON CONFLICT (execution_id) DO UPDATE SET last_at = excluded.last_at
RETURNING execution_id, position, bytes, last_at
