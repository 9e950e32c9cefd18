-- Lists imported executions like list_imported_by_catalog.sql, for the children of $7; the version
-- may be NULL for any.
SELECT listed.body::text AS body
FROM unnest($4::text[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT execution_id, body
    FROM noetl.imported_execution
    WHERE
        parent_execution_id = $7
        AND status = wanted.status
        AND -execution_id > -$1::bigint
        AND execution_id < $1
        AND ($2::text IS NULL OR strpos(path_folded, $2) > 0)
        AND ($5::text IS NULL OR path = $5)
        AND ($6::bigint IS NULL OR catalog_id = $6)
    ORDER BY -execution_id
    LIMIT $3
) AS listed
ORDER BY listed.execution_id DESC
LIMIT $3
