-- Lists executions like list_executions_by_parent.sql, of any parent (NULL for any) and with an
-- entry of kind ?10 whose key is ?11 with a status.
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
        SELECT entry.execution_id
        FROM execution_index AS entry
        CROSS JOIN execution AS one ON one.execution_id = entry.execution_id
        WHERE
            entry.kind = ?10
            AND entry.key = ?11 || ' ' || wanted.value
            AND entry.execution_id < ?1
            AND (?2 IS NULL OR instr(one.path_folded, ?2) > 0)
            AND (?5 IS NULL OR one.path = ?5)
            AND (?6 IS NULL OR one.catalog_id = ?6)
            AND (?7 IS NULL OR one.parent_execution_id = ?7)
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
        ORDER BY entry.execution_id DESC
        LIMIT +?3
    )
    ORDER BY found.execution_id DESC
    LIMIT +?3
)
ORDER BY execution_id DESC
