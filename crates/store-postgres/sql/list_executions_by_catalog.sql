-- As list_executions.sql, for the playbook version $6, with the path $5 (any if none), that stand at
-- $4 (all if none), in the order of the index for it.
SELECT
    execution_id, catalog_id, path, version, status, seq, started_at, ended_at, parent_execution_id,
    parent_command_id, current_step, steps_total, steps_running, steps_completed, steps_failed,
    items_total, items_completed, items_failed, error::text AS error,
    head_digest, fork_execution_id, fork_seq
FROM noetl.execution
WHERE
    catalog_id >= $6
    AND (catalog_id, execution_id) < ($6, $1)
    AND execution_id < $1
    AND ($4::text IS NULL OR status = $4)
    AND ($2::text IS NULL OR strpos(path_folded, $2) > 0)
    AND ($5::text IS NULL OR path = $5)
ORDER BY catalog_id DESC, execution_id DESC
LIMIT $3
