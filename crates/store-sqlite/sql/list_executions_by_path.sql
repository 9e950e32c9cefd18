-- Lists executions like list_executions.sql, with folded path ?2, exact path ?5 (NULL for any) and
-- one of the statuses in the JSON array ?4.
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
            one.path_folded = ?2
            AND one.status = wanted.value
            AND one.execution_id < ?1
            AND (?5 IS NULL OR one.path = ?5)
        ORDER BY one.execution_id DESC
        LIMIT +?3
    )
    ORDER BY found.execution_id DESC
    LIMIT +?3
)
ORDER BY execution_id DESC
