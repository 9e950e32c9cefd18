-- Counts executions like count_by_time.sql, with folded path $8 and exact path $9 (NULL for
-- any).
SELECT bucket.number AS bucket, wanted.status, counted.count
FROM generate_series(0, $5::bigint - 1) AS bucket (number)
CROSS JOIN unnest($7::text[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT count(*) AS count
    FROM (
        SELECT 1
        FROM noetl.execution
        WHERE
            path_folded = $8
            AND status = wanted.status
            AND -execution_id > -least($3::bigint + (bucket.number + 1) * $4::bigint, $2::bigint)
            AND -execution_id <= -greatest($3::bigint + bucket.number * $4::bigint, $1::bigint)
            AND ($9::text IS NULL OR path = $9)
        ORDER BY -execution_id
        LIMIT $6
    ) AS one
) AS counted
