-- Selects the child executions of the commands with execution ids $1 and command ids $2.
SELECT child.parent_execution_id, child.parent_command_id, child.execution_id
FROM unnest($1::bigint[], $2::bigint[]) AS parent (execution_id, command_id)
JOIN noetl.child
    ON child.parent_execution_id = parent.execution_id
    AND child.parent_command_id = parent.command_id
