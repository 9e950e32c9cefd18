-- Selects the open commands of an execution.
SELECT
    execution_id, command_id, pool, step_name, attempt, priority, status, worker_id, lease_until,
    created_at
FROM noetl.command
WHERE execution_id = $1
