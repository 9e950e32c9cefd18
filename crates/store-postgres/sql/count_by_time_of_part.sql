-- Counts executions like count_by_time.sql, with a folded path that contains $8. Distinct paths are
-- found with a loose index scan. All bars together read no more entries than they can count; if there
-- are more, at least one bar has the largest count.
WITH RECURSIVE known (path) AS (
    SELECT min(path_folded) FROM noetl.execution
    UNION ALL
    SELECT (SELECT min(path_folded) FROM noetl.execution WHERE path_folded > known.path)
    FROM known
    WHERE known.path IS NOT NULL
)
SELECT found.bucket, found.status, count(*) AS count
FROM (
    SELECT wanted.status, (one.execution_id - $3::bigint) / $4::bigint AS bucket
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
        ORDER BY -execution_id
        LIMIT $5::bigint * $6::bigint
    ) AS one
    WHERE strpos(known.path, $8) > 0
    LIMIT $5::bigint * $6::bigint * cardinality($7::text[])
) AS found
GROUP BY found.bucket, found.status
