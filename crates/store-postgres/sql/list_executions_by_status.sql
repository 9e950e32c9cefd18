-- Lists executions like list_executions.sql, with status $3, in the order of the status index.
SELECT
    execution_id, catalog_id, path, version, status, seq, started_at, ended_at, parent_execution_id,
    parent_command_id, current_step, steps_total, steps_running, steps_completed, steps_failed,
    items_total, items_completed, items_failed, error::text AS error,
    head_digest, fork_execution_id, fork_seq, labels::text AS labels, actor
FROM noetl.execution
WHERE status >= $3 AND (status, execution_id) < ($3, $1) AND execution_id < $1
ORDER BY status DESC, execution_id DESC
LIMIT $2
