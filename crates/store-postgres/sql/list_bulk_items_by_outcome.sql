-- Lists results like list_bulk_items.sql, with outcome $4.
SELECT execution_id, outcome, started_execution_id, message
FROM noetl.bulk_item
WHERE job_id = $1 AND outcome = $4 AND execution_id < $2
ORDER BY execution_id DESC
LIMIT $3
