-- Lists executions like list_executions_by_parent.sql, of any parent (NULL for any), that have each of
-- the words $10: in the folded path, or as an index entry of kind `word`. Executions with all words in
-- the path are found with a loose index scan of paths; without other conditions, only the pairs of path
-- and status with the newest executions are read. The others have an entry of one of the words, which
-- leads the search. A word that is in no path leads alone, because every match has its entry: of several
-- such words, the one with the fewest entries, which are counted up to a limit.
WITH RECURSIVE known (path) AS (
    SELECT min(path_folded) FROM noetl.execution
    UNION ALL
    SELECT (SELECT min(path_folded) FROM noetl.execution WHERE path_folded > known.path)
    FROM known
    WHERE known.path IS NOT NULL
),
leading_pairs AS (
    SELECT known.path, wanted.status
    FROM known
    CROSS JOIN unnest($4::text[]) AS wanted (status)
    CROSS JOIN LATERAL (
        SELECT execution_id
        FROM noetl.execution
        WHERE
            path_folded = known.path
            AND status = wanted.status
            AND -execution_id > -$1::bigint
            AND execution_id < $1
        ORDER BY -execution_id
        LIMIT 1
    ) AS newest
    WHERE
        ($2::text IS NULL OR strpos(known.path, $2) > 0)
        AND NOT EXISTS (
            SELECT 1 FROM unnest($10::text[]) AS word (text) WHERE strpos(known.path, word.text) = 0
        )
    ORDER BY newest.execution_id DESC
    LIMIT CASE
        WHEN coalesce($5::text, ($6::bigint)::text, ($7::bigint)::text, $8::text, $9::text) IS NULL
        THEN $3::bigint
    END
),
sole AS MATERIALIZED (
    SELECT word.text
    FROM unnest($10::text[]) AS word (text)
    WHERE NOT EXISTS (SELECT 1 FROM known WHERE strpos(known.path, word.text) > 0)
    ORDER BY
        (
            SELECT count(*)
            FROM (
                SELECT 1
                FROM unnest($4::text[]) AS wanted (status)
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
    SELECT word.text FROM unnest($10::text[]) AS word (text) WHERE NOT EXISTS (SELECT 1 FROM sole)
),
found AS (
    SELECT one.execution_id
    FROM leading_pairs AS pair
    CROSS JOIN LATERAL (
        SELECT execution_id
        FROM noetl.execution
        WHERE
            path_folded = pair.path
            AND status = pair.status
            AND -execution_id > -$1::bigint
            AND execution_id < $1
            AND ($5::text IS NULL OR path = $5)
            AND ($6::bigint IS NULL OR catalog_id = $6)
            AND ($7::bigint IS NULL OR parent_execution_id = $7)
            AND ($8::text IS NULL OR labels::jsonb @> $8::jsonb)
            AND ($9::text IS NULL OR actor = $9)
        ORDER BY -execution_id
        LIMIT $3::bigint
    ) AS one
    UNION
    SELECT one.execution_id
    FROM lead
    CROSS JOIN unnest($4::text[]) AS wanted (status)
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
            AND entry.execution_id < $1
            AND ($2::text IS NULL OR strpos(one.path_folded, $2) > 0)
            AND ($5::text IS NULL OR one.path = $5)
            AND ($6::bigint IS NULL OR one.catalog_id = $6)
            AND ($7::bigint IS NULL OR one.parent_execution_id = $7)
            AND ($8::text IS NULL OR one.labels::jsonb @> $8::jsonb)
            AND ($9::text IS NULL OR one.actor = $9)
            -- Not a join: the number of words is small, and each is a lookup of one entry.
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
                FROM unnest($10::text[]) AS word (text)
            )
        ORDER BY entry.execution_id DESC
        LIMIT $3::bigint
    ) AS one
    ORDER BY 1 DESC
    LIMIT $3::bigint
)
SELECT
    listed.execution_id, catalog_id, path, version, status, seq, started_at, ended_at,
    parent_execution_id, parent_command_id, current_step, steps_total, steps_running,
    steps_completed, steps_failed, items_total, items_completed, items_failed, error::text AS error,
    head_digest, fork_execution_id, fork_seq, labels::text AS labels, actor
FROM found
CROSS JOIN LATERAL (
    -- The limit keeps the plan a lookup of one row.
    SELECT * FROM noetl.execution WHERE execution_id = found.execution_id LIMIT 1
) AS listed
ORDER BY listed.execution_id DESC
