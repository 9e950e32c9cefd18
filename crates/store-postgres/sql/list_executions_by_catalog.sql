-- Lists executions like list_executions.sql, of playbook version $6, with path $5 (NULL for any)
-- and one of the statuses $4. All executions of a version have the same path, so the path is
-- checked on one of them, through the same index.
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
        catalog_id = $6
        AND status = wanted.status
        AND -execution_id > -$1::bigint
        AND execution_id < $1
        AND (
            $2::text IS NULL
            OR (
                SELECT strpos(path_folded, $2) > 0
                FROM noetl.execution
                WHERE catalog_id = $6
                ORDER BY status, -execution_id
                LIMIT 1
            )
        )
        AND (
            $5::text IS NULL
            OR (
                SELECT path = $5
                FROM noetl.execution
                WHERE catalog_id = $6
                ORDER BY status, -execution_id
                LIMIT 1
            )
        )
    ORDER BY -execution_id
    LIMIT $3
) AS listed
ORDER BY listed.execution_id DESC
LIMIT $3
