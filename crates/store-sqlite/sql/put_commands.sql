-- Inserts or replaces open commands, at ?2; ?1 is a JSON array of rows.
INSERT INTO command (
    execution_id, command_id, pool, step_name, attempt, priority, status, worker_id, lease_until,
    created_at
)
SELECT
    value ->> 'execution_id',
    value ->> 'command_id',
    value ->> 'pool',
    value ->> 'step_name',
    value ->> 'attempt',
    value ->> 'priority',
    value ->> 'status',
    value ->> 'worker_id',
    value ->> 'lease_until',
    ?2
FROM json_each(?1)
WHERE true
ON CONFLICT (execution_id, command_id) DO UPDATE SET
    attempt = excluded.attempt,
    -- A command waits for a worker since it is no longer parked.
    created_at = CASE
        WHEN command.status = 'PARKED' AND excluded.status = 'ISSUED' THEN excluded.created_at
        ELSE command.created_at
    END,
    status = excluded.status,
    worker_id = excluded.worker_id,
    lease_until = excluded.lease_until
