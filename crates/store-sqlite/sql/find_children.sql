-- Selects the child executions of commands; ?1 is a JSON array of [execution id, command id].
SELECT child.parent_execution_id, child.parent_command_id, child.execution_id
FROM json_each(?1) AS parent
CROSS JOIN execution AS child
    ON child.parent_execution_id = parent.value ->> 0
    AND child.parent_command_id = parent.value ->> 1
