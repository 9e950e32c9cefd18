SELECT body::text AS body
FROM noetl.imported_execution
WHERE execution_id = $1
