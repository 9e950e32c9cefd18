-- Counts executions like count_by_time.sql, of playbook version ?10, with a path that
-- contains ?8 and path ?9 (NULL for any). All executions of a version have the same path, so the path
-- is checked on one of them.
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
            FROM execution AS one
            WHERE
                one.catalog_id = ?10
                AND one.status = wanted.value
                AND one.execution_id < min(?3 + (bucket.number + 1) * ?4, ?2)
                AND one.execution_id >= max(?3 + bucket.number * ?4, ?1)
                AND (
                    ?8 IS NULL
                    OR (SELECT instr(path_folded, ?8) > 0 FROM execution WHERE catalog_id = ?10 LIMIT 1)
                )
                AND (?9 IS NULL OR (SELECT path = ?9 FROM execution WHERE catalog_id = ?10 LIMIT 1))
            LIMIT +?6
        )
    ) AS count
FROM bucket
CROSS JOIN json_each(?7) AS wanted
