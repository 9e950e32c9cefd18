-- Lists executions like list_executions_by_catalog.sql, for the children of ?7, with the labels ?8 and
-- the actor ?9; the version, the labels and the actor may be NULL for any.
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
            one.parent_execution_id = ?7
            AND one.status = wanted.value
            AND one.execution_id < ?1
            AND (?2 IS NULL OR instr(one.path_folded, ?2) > 0)
            AND (?5 IS NULL OR one.path = ?5)
            AND (?6 IS NULL OR one.catalog_id = ?6)
            AND NOT EXISTS (
                SELECT 1
                FROM json_each(coalesce(?8, '{}')) AS label
                WHERE NOT EXISTS (
                    SELECT 1
                    FROM json_each(coalesce(one.labels, '{}')) AS had
                    WHERE had.key = label.key AND had.value = label.value
                )
            )
            AND (?9 IS NULL OR one.actor = ?9)
        ORDER BY one.execution_id DESC
        LIMIT +?3
    )
    ORDER BY found.execution_id DESC
    LIMIT +?3
)
ORDER BY execution_id DESC
