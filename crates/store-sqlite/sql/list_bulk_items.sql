-- Lists at most ?3 results of bulk job ?1 below execution ?2, in descending order.
SELECT execution_id, outcome, started_execution_id, message
FROM bulk_item
WHERE job_id = ?1 AND execution_id < ?2
ORDER BY execution_id DESC
LIMIT +?3
