-- Lists at most $2 executions older than $1, newest first.
SELECT
    execution_id, catalog_id, path, version, status, seq, started_at, ended_at, parent_execution_id,
    parent_command_id, current_step, steps_total, steps_running, steps_completed, steps_failed,
    items_total, items_completed, items_failed, error::text AS error,
    head_digest, fork_execution_id, fork_seq, labels::text AS labels, actor
FROM noetl.execution
WHERE execution_id < $1
ORDER BY execution_id DESC
LIMIT $2
