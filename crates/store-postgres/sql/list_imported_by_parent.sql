-- Lists imported executions like list_imported.sql, for the children of $7.
SELECT body::text AS body
FROM noetl.imported_execution
WHERE
    parent_execution_id = $7
    AND execution_id < $1
    AND ($3::text IS NULL OR status = $3)
    AND ($4::text IS NULL OR strpos(path_folded, $4) > 0)
    AND ($5::text IS NULL OR path = $5)
    AND ($6::bigint IS NULL OR catalog_id = $6)
ORDER BY execution_id DESC
LIMIT $2
