-- Counts executions like count_by_time_of_parent.sql, of any parent ?11 (NULL for any) and with an
-- entry of kind ?14 whose key is ?15 with a status.
WITH RECURSIVE bucket (number) AS (
    SELECT 0
    UNION ALL
    SELECT number + 1 FROM bucket WHERE number + 1 < ?5
)
SELECT
    bucket.number AS bucket,
    wanted.value AS status,
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM execution_index AS entry
            CROSS JOIN execution AS one ON one.execution_id = entry.execution_id
            WHERE
                entry.kind = ?14
                AND entry.key = ?15 || ' ' || wanted.value
                AND entry.execution_id < min(?3 + (bucket.number + 1) * ?4, ?2)
                AND entry.execution_id >= max(?3 + bucket.number * ?4, ?1)
                AND (?8 IS NULL OR instr(one.path_folded, ?8) > 0)
                AND (?9 IS NULL OR one.path = ?9)
                AND (?10 IS NULL OR one.catalog_id = ?10)
                AND (?11 IS NULL OR one.parent_execution_id = ?11)
                AND NOT EXISTS (
                    SELECT 1
                    FROM json_each(coalesce(?12, '{}')) AS label
                    WHERE NOT EXISTS (
                        SELECT 1
                        FROM json_each(coalesce(one.labels, '{}')) AS had
                        WHERE had.key = label.key AND had.value = label.value
                    )
                )
                AND (?13 IS NULL OR one.actor = ?13)
            LIMIT +?6
        )
    ) AS count
FROM bucket
CROSS JOIN json_each(?7) AS wanted
