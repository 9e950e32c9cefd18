-- Lists executions like list_executions.sql, of playbook version ?6, with path ?5 (NULL for any)
-- and one of the statuses in the JSON array ?4. All executions of a version have the same path, so
-- the path is checked on one of them.
SELECT
    execution_id, catalog_id, path, version, status, seq, started_at, ended_at, parent_execution_id,
    parent_command_id, current_step, steps_total, steps_running, steps_completed, steps_failed,
    items_total, items_completed, items_failed, error,
    head_digest, fork_execution_id, fork_seq, labels, actor
FROM execution
WHERE execution_id IN (
    SELECT found.execution_id
    FROM json_each(?4) AS wanted
    JOIN execution AS found ON found.execution_id IN (
        SELECT one.execution_id
        FROM execution AS one
        WHERE
            one.catalog_id = ?6
            AND one.status = wanted.value
            AND one.execution_id < ?1
            AND (?2 IS NULL OR (SELECT instr(path_folded, ?2) > 0 FROM execution WHERE catalog_id = ?6 LIMIT 1))
            AND (?5 IS NULL OR (SELECT path = ?5 FROM execution WHERE catalog_id = ?6 LIMIT 1))
        ORDER BY one.execution_id DESC
        LIMIT +?3
    )
    ORDER BY found.execution_id DESC
    LIMIT +?3
)
ORDER BY execution_id DESC
