-- Selects open commands; ?1 is a JSON array of [execution id, command id].
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
FROM json_each(?1) AS wanted
CROSS JOIN command
    ON command.execution_id = wanted.value ->> 0
    AND command.command_id = wanted.value ->> 1
