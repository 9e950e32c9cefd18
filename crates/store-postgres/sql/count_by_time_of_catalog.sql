-- Counts executions like count_by_time.sql, of playbook version $10, with a path that
-- contains $8 and path $9 (NULL for any). All executions of a version have the same path, so the path
-- is checked on one of them.
SELECT bucket.number AS bucket, wanted.status, counted.count
FROM generate_series(0, $5::bigint - 1) AS bucket (number)
CROSS JOIN unnest($7::text[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT count(*) AS count
    FROM (
        SELECT 1
        FROM noetl.execution
        WHERE
            catalog_id = $10
            AND status = wanted.status
            AND -execution_id > -least($3::bigint + (bucket.number + 1) * $4::bigint, $2::bigint)
            AND -execution_id <= -greatest($3::bigint + bucket.number * $4::bigint, $1::bigint)
            AND (
                $8::text IS NULL
                OR (
                    SELECT strpos(path_folded, $8) > 0
                    FROM noetl.execution
                    WHERE catalog_id = $10
                    ORDER BY status, -execution_id
                    LIMIT 1
                )
            )
            AND (
                $9::text IS NULL
                OR (
                    SELECT path = $9
                    FROM noetl.execution
                    WHERE catalog_id = $10
                    ORDER BY status, -execution_id
                    LIMIT 1
                )
            )
        ORDER BY -execution_id
        LIMIT $6
    ) AS one
) AS counted
