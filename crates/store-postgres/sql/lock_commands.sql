-- Some open commands, by the ids of their executions ($1) and their own ($2), kept from others.
SELECT
    command.execution_id,
    command.command_id,
    command.pool,
    command.step_name,
    command.attempt,
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
