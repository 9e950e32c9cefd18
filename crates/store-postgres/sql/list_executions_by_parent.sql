-- Lists executions like list_executions_by_catalog.sql, for the children of $7, with the labels $8 and
-- the actor $9; the version, the labels and the actor may be NULL for any.
SELECT
    listed.execution_id, catalog_id, path, version, listed.status, seq, started_at, ended_at,
    parent_execution_id, parent_command_id, current_step, steps_total, steps_running,
    steps_completed, steps_failed, items_total, items_completed, items_failed, error::text AS error,
    head_digest, fork_execution_id, fork_seq, labels::text AS labels, actor
FROM unnest($4::text[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT *
    FROM noetl.execution
    WHERE
        parent_execution_id = $7
        AND status = wanted.status
        AND -execution_id > -$1::bigint
        AND execution_id < $1
        AND ($2::text IS NULL OR strpos(path_folded, $2) > 0)
        AND ($5::text IS NULL OR path = $5)
        AND ($6::bigint IS NULL OR catalog_id = $6)
        AND ($8::text IS NULL OR labels::jsonb @> $8::jsonb)
        AND ($9::text IS NULL OR actor = $9)
    ORDER BY -execution_id
    LIMIT $3
) AS listed
ORDER BY listed.execution_id DESC
LIMIT $3
