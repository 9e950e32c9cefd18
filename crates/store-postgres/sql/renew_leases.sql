-- The leases of worker $1 last for $3 microseconds from now ($2, or this server's own), also those that
-- have run out.
-- Nobody waits for the disk: what is forgotten is done again.
WITH held AS (
    SELECT execution_id, command_id
    FROM noetl.command
    WHERE status = 'CLAIMED' AND worker_id = $1
    ORDER BY execution_id, command_id
    FOR UPDATE
)
UPDATE noetl.command
SET lease_until = coalesce($2, statement_timestamp()) + $3::bigint * interval '1 microsecond'
FROM held
WHERE
    command.execution_id = held.execution_id
    AND command.command_id = held.command_id
    AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
