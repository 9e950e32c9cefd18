-- Counts executions like count_by_time.sql, for the children of $11, with a path that
-- contains $8, path $9, version $10, labels $12 and actor $13 (NULL for any).
SELECT bucket.number AS bucket, wanted.status, counted.count
FROM generate_series(0, $5::bigint - 1) AS bucket (number)
CROSS JOIN unnest($7::text[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT count(*) AS count
    FROM (
        SELECT 1
        FROM noetl.execution
        WHERE
            parent_execution_id = $11
            AND status = wanted.status
            AND -execution_id > -least($3::bigint + (bucket.number + 1) * $4::bigint, $2::bigint)
            AND -execution_id <= -greatest($3::bigint + bucket.number * $4::bigint, $1::bigint)
            AND ($8::text IS NULL OR strpos(path_folded, $8) > 0)
            AND ($9::text IS NULL OR path = $9)
            AND ($10::bigint IS NULL OR catalog_id = $10)
            AND ($12::text IS NULL OR labels::jsonb @> $12::jsonb)
            AND ($13::text IS NULL OR actor = $13)
        ORDER BY -execution_id
        LIMIT $6
    ) AS one
) AS counted
