-- Counts executions by bucket and status. The ids from $1 to $2 are counted; a bucket has $4 ids,
-- the first of $5 buckets begins at $3. A bar with one of the statuses $7 counts at most $6
-- entries of an index, so the cost does not depend on the number of executions. The statements for
-- a filter leave out the condition on execution_id itself, so that the index of the filter is used.
SELECT bucket.number AS bucket, wanted.status, counted.count
FROM generate_series(0, $5::bigint - 1) AS bucket (number)
CROSS JOIN unnest($7::text[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT count(*) AS count
    FROM (
        SELECT 1
        FROM noetl.execution
        WHERE
            status = wanted.status
            AND execution_id < least($3::bigint + (bucket.number + 1) * $4::bigint, $2::bigint)
            AND execution_id >= greatest($3::bigint + bucket.number * $4::bigint, $1::bigint)
        LIMIT $6
    ) AS one
) AS counted
