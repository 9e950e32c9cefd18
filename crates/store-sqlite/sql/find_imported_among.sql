-- Selects the imported executions among ?1, a JSON array of ids.
SELECT imported_execution.body
FROM json_each(?1) AS wanted
CROSS JOIN imported_execution ON imported_execution.execution_id = wanted.value
