-- Lists executions like list_executions.sql, with status ?3.
SELECT
    execution_id, catalog_id, path, version, status, seq, started_at, ended_at, parent_execution_id,
    parent_command_id, current_step, steps_total, steps_running, steps_completed, steps_failed,
    items_total, items_completed, items_failed, error,
    head_digest, fork_execution_id, fork_seq, labels, actor
FROM execution
WHERE status = ?3 AND execution_id < ?1
ORDER BY execution_id DESC
LIMIT +?2
