-- Lists executions like list_executions_by_parent.sql, of any parent (NULL for any) and with an
-- entry of kind $10 whose key is $11 with a status.
SELECT
    listed.execution_id, catalog_id, path, version, listed.status, seq, started_at, ended_at,
    parent_execution_id, parent_command_id, current_step, steps_total, steps_running,
    steps_completed, steps_failed, items_total, items_completed, items_failed, error::text AS error,
    head_digest, fork_execution_id, fork_seq, labels::text AS labels, actor
FROM unnest($4::text[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT one.*
    FROM noetl.execution_index AS entry
    CROSS JOIN LATERAL (
        -- The limit keeps the plan a lookup of one row.
        SELECT * FROM noetl.execution WHERE execution_id = entry.execution_id LIMIT 1
    ) AS one
    WHERE
        entry.kind = $10
        AND entry.key = $11 || ' ' || wanted.status
        AND entry.execution_id < $1
        AND ($2::text IS NULL OR strpos(one.path_folded, $2) > 0)
        AND ($5::text IS NULL OR one.path = $5)
        AND ($6::bigint IS NULL OR one.catalog_id = $6)
        AND ($7::bigint IS NULL OR one.parent_execution_id = $7)
        AND ($8::text IS NULL OR one.labels::jsonb @> $8::jsonb)
        AND ($9::text IS NULL OR one.actor = $9)
    ORDER BY entry.execution_id DESC
    LIMIT $3
) AS listed
ORDER BY listed.execution_id DESC
LIMIT $3
