-- Selects and locks the open commands with execution ids $1 and command ids $2.
SELECT
    command.execution_id,
    command.command_id,
    command.pool,
    command.step_name,
    command.attempt,
    command.priority,
    command.status,
    command.worker_id,
    command.lease_until,
    command.created_at
FROM noetl.command
JOIN unnest($1::bigint[], $2::bigint[]) AS wanted (execution_id, command_id)
    ON command.execution_id = wanted.execution_id
    AND command.command_id = wanted.command_id
ORDER BY command.execution_id, command.command_id
FOR UPDATE OF command
