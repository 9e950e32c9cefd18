-- Ends the active leases of worker $1 now ($2, or the database clock). The commit does not wait for
-- the disk: a lost update is repeated.
WITH held AS (
    SELECT execution_id, command_id
    FROM noetl.command
    WHERE
        status = 'CLAIMED'
        AND worker_id = $1
        AND lease_until > coalesce($2, statement_timestamp())
    ORDER BY execution_id, command_id
    FOR UPDATE
)
UPDATE noetl.command
SET lease_until = coalesce($2, statement_timestamp())
FROM held
WHERE
    command.execution_id = held.execution_id
    AND command.command_id = held.command_id
    AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
