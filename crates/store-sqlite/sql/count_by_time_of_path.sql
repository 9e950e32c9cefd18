-- Counts executions like count_by_time.sql, with folded path ?8 and exact path ?9 (NULL for
-- any).
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
                one.path_folded = ?8
                AND one.status = wanted.value
                AND one.execution_id < min(?3 + (bucket.number + 1) * ?4, ?2)
                AND one.execution_id >= max(?3 + bucket.number * ?4, ?1)
                AND (?9 IS NULL OR one.path = ?9)
            LIMIT +?6
        )
    ) AS count
FROM bucket
CROSS JOIN json_each(?7) AS wanted
