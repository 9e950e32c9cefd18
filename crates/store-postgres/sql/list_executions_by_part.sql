-- Lists at most $3 executions older than $1 whose folded path contains $2, with one of the statuses
-- $4, newest first. Distinct paths are found with a loose index scan. The page comes from at most
-- $3 pairs of path and status, the pairs with the newest executions, so that no step depends on the
-- number of executions.
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
    WHERE strpos(known.path, $2) > 0
    ORDER BY newest.execution_id DESC
    LIMIT $3
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
        ORDER BY -execution_id
        LIMIT $3
    ) AS one
    ORDER BY one.execution_id DESC
    LIMIT $3
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
