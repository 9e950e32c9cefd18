-- Extends the leases of the given commands to $3 microseconds from now ($4, or the database clock).
-- The commit does not wait for the disk: a lost update is repeated.
UPDATE noetl.command
SET lease_until = coalesce($4, clock_timestamp()) + $3::bigint * interval '1 microsecond'
FROM unnest($1::bigint[], $2::bigint[]) AS held (execution_id, command_id)
WHERE
    command.execution_id = held.execution_id
    AND command.command_id = held.command_id
    AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
