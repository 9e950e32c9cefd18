-- Deletes imported executions without events at $1 or later, at most $2.
DELETE FROM noetl.imported_execution
WHERE execution_id IN (
    SELECT execution_id FROM noetl.imported_execution WHERE last_at < $1 ORDER BY last_at LIMIT $2
)
