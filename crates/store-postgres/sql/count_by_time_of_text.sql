-- Counts executions like count_by_time_of_parent.sql, of any parent $11 (NULL for any), that have each of
-- the words $14, which are found as by list_executions_by_text.sql. All bars together read no more
-- entries of each search than they can count; if there are more, at least one bar has the largest count.
WITH RECURSIVE known (path) AS (
    SELECT min(path_folded) FROM noetl.execution
    UNION ALL
    SELECT (SELECT min(path_folded) FROM noetl.execution WHERE path_folded > known.path)
    FROM known
    WHERE known.path IS NOT NULL
),
sole AS MATERIALIZED (
    SELECT word.text
    FROM unnest($14::text[]) AS word (text)
    WHERE NOT EXISTS (SELECT 1 FROM known WHERE strpos(known.path, word.text) > 0)
    ORDER BY
        (
            SELECT count(*)
            FROM (
                SELECT 1
                FROM unnest($7::text[]) AS wanted (status)
                CROSS JOIN LATERAL (
                    SELECT 1
                    FROM noetl.execution_index AS counted
                    WHERE
                        counted.kind = 'word'
                        AND counted.key = word.text || ' ' || wanted.status
                    LIMIT 1000
                ) AS one
            ) AS entries
        ),
        length(word.text) DESC
    LIMIT 1
),
lead AS MATERIALIZED (
    SELECT sole.text FROM sole
    UNION ALL
    SELECT word.text FROM unnest($14::text[]) AS word (text) WHERE NOT EXISTS (SELECT 1 FROM sole)
),
found AS (
    (
        SELECT one.execution_id, wanted.status
        FROM known
        CROSS JOIN unnest($7::text[]) AS wanted (status)
        CROSS JOIN LATERAL (
            SELECT execution_id
            FROM noetl.execution
            WHERE
                path_folded = known.path
                AND status = wanted.status
                AND -execution_id > -$2::bigint
                AND -execution_id <= -$1::bigint
                AND ($9::text IS NULL OR path = $9)
                AND ($10::bigint IS NULL OR catalog_id = $10)
                AND ($11::bigint IS NULL OR parent_execution_id = $11)
                AND ($12::text IS NULL OR labels::jsonb @> $12::jsonb)
                AND ($13::text IS NULL OR actor = $13)
            ORDER BY -execution_id
            LIMIT $5::bigint * $6::bigint
        ) AS one
        WHERE
            ($8::text IS NULL OR strpos(known.path, $8) > 0)
            AND NOT EXISTS (
                SELECT 1
                FROM unnest($14::text[]) AS word (text)
                WHERE strpos(known.path, word.text) = 0
            )
        LIMIT $5::bigint * $6::bigint * cardinality($7::text[])
    )
    UNION
    SELECT one.execution_id, wanted.status
    FROM lead
    CROSS JOIN unnest($7::text[]) AS wanted (status)
    CROSS JOIN LATERAL (
        SELECT entry.execution_id
        FROM noetl.execution_index AS entry
        CROSS JOIN LATERAL (
            -- The limit keeps the plan a lookup of one row.
            SELECT * FROM noetl.execution WHERE execution_id = entry.execution_id LIMIT 1
        ) AS one
        WHERE
            entry.kind = 'word'
            AND entry.key = lead.text || ' ' || wanted.status
            AND entry.execution_id < $2::bigint
            AND entry.execution_id >= $1::bigint
            AND ($8::text IS NULL OR strpos(one.path_folded, $8) > 0)
            AND ($9::text IS NULL OR one.path = $9)
            AND ($10::bigint IS NULL OR one.catalog_id = $10)
            AND ($11::bigint IS NULL OR one.parent_execution_id = $11)
            AND ($12::text IS NULL OR one.labels::jsonb @> $12::jsonb)
            AND ($13::text IS NULL OR one.actor = $13)
            AND (
                SELECT bool_and(
                    strpos(one.path_folded, word.text) > 0
                    OR EXISTS (
                        SELECT 1
                        FROM noetl.execution_index AS other
                        WHERE
                            other.kind = 'word'
                            AND other.key = word.text || ' ' || wanted.status
                            AND other.execution_id = entry.execution_id
                            AND other.command_id = -1
                    )
                )
                FROM unnest($14::text[]) AS word (text)
            )
        ORDER BY entry.execution_id DESC
        LIMIT $5::bigint * $6::bigint
    ) AS one
)
SELECT
    (found.execution_id - $3::bigint) / $4::bigint AS bucket, found.status, count(*) AS count
FROM found
GROUP BY 1, 2
