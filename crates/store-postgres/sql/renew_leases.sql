-- Extends all leases of worker $1 to $2 microseconds from now ($3, or the database clock),
-- including expired ones. The commit does not wait for the disk: a lost update is repeated.
WITH held AS (
    SELECT execution_id, command_id
    FROM noetl.command
    WHERE status = 'CLAIMED' AND worker_id = $1
    ORDER BY execution_id, command_id
    FOR UPDATE
)
UPDATE noetl.command
SET lease_until = coalesce($3, statement_timestamp()) + $2::bigint * interval '1 microsecond'
FROM held
WHERE
    command.execution_id = held.execution_id
    AND command.command_id = held.command_id
    AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
