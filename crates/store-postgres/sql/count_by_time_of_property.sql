-- Counts executions like count_by_time_of_parent.sql, of any parent $11 (NULL for any) and with an
-- entry of kind $14 whose key is $15 with a status.
SELECT bucket.number AS bucket, wanted.status, counted.count
FROM generate_series(0, $5::bigint - 1) AS bucket (number)
CROSS JOIN unnest($7::text[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT count(*) AS count
    FROM (
        SELECT 1
        FROM noetl.execution_index AS entry
        CROSS JOIN LATERAL (
            -- The limit keeps the plan a lookup of one row.
            SELECT * FROM noetl.execution WHERE execution_id = entry.execution_id LIMIT 1
        ) AS one
        WHERE
            entry.kind = $14
            AND entry.key = $15 || ' ' || wanted.status
            AND entry.execution_id < least($3::bigint + (bucket.number + 1) * $4::bigint, $2::bigint)
            AND entry.execution_id >= greatest($3::bigint + bucket.number * $4::bigint, $1::bigint)
            AND ($8::text IS NULL OR strpos(one.path_folded, $8) > 0)
            AND ($9::text IS NULL OR one.path = $9)
            AND ($10::bigint IS NULL OR one.catalog_id = $10)
            AND ($11::bigint IS NULL OR one.parent_execution_id = $11)
            AND ($12::text IS NULL OR one.labels::jsonb @> $12::jsonb)
            AND ($13::text IS NULL OR one.actor = $13)
        LIMIT $6
    ) AS one
) AS counted
