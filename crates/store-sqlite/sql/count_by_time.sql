-- Counts executions by bucket and status. The ids from ?1 to ?2 are counted; a bucket has ?4 ids,
-- the first of ?5 buckets begins at ?3. A bar with one of the statuses in the JSON array ?7 counts at
-- most ?6 entries of an index, so the cost does not depend on the number of executions.
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
                one.status = wanted.value
                AND one.execution_id < min(?3 + (bucket.number + 1) * ?4, ?2)
                AND one.execution_id >= max(?3 + bucket.number * ?4, ?1)
            LIMIT +?6
        )
    ) AS count
FROM bucket
CROSS JOIN json_each(?7) AS wanted
