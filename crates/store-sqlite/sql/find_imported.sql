SELECT body
FROM imported_execution
WHERE execution_id = ?1
