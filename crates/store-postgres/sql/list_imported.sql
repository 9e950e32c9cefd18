-- Lists at most $2 imported executions older than $1, newest first.
SELECT body::text AS body
FROM noetl.imported_execution
WHERE execution_id < $1
ORDER BY execution_id DESC
LIMIT $2
