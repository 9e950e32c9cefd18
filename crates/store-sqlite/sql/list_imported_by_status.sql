-- Lists imported executions like list_imported.sql, with status ?3.
SELECT body
FROM imported_execution
WHERE status = ?3 AND execution_id < ?1
ORDER BY execution_id DESC
LIMIT +?2
