-- As list_executions.sql, for the playbook version ?6, with the path ?5 (any if none), that stand at
-- ?4 (all if none).
SELECT
    execution_id, catalog_id, path, version, status, seq, started_at, ended_at, parent_execution_id,
    parent_command_id, current_step, steps_total, steps_running, steps_completed, steps_failed,
    items_total, items_completed, items_failed, error,
    head_digest, fork_execution_id, fork_seq
FROM execution
WHERE
    catalog_id = ?6
    AND execution_id < ?1
    AND (?4 IS NULL OR status = ?4)
    AND (?2 IS NULL OR instr(path_folded, ?2) > 0)
    AND (?5 IS NULL OR path = ?5)
ORDER BY execution_id DESC
LIMIT +?3
