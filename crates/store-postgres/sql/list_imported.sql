-- Lists at most $2 imported executions older than $1, newest first, with status $3, a path that
-- contains $4, path $5 and playbook version $6; NULL selects any.
SELECT body::text AS body
FROM noetl.imported_execution
WHERE
    execution_id < $1
    AND ($3::text IS NULL OR status = $3)
    AND ($4::text IS NULL OR strpos(path_folded, $4) > 0)
    AND ($5::text IS NULL OR path = $5)
    AND ($6::bigint IS NULL OR catalog_id = $6)
ORDER BY execution_id DESC
LIMIT $2
