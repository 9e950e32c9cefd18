-- Lists imported executions like list_imported.sql, with status $3, in the order of the status index.
SELECT body::text AS body
FROM noetl.imported_execution
WHERE status >= $3 AND (status, execution_id) < ($3, $1) AND execution_id < $1
ORDER BY status DESC, execution_id DESC
LIMIT $2
