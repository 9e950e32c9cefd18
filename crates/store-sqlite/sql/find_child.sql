-- Selects the child execution of command ?2 of execution ?1.
SELECT execution_id
FROM execution
WHERE parent_execution_id = ?1 AND parent_command_id = ?2
