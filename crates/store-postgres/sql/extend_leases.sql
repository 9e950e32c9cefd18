-- Prolongs the leases of some commands until $3 from now ($4, or this server's own), in microseconds.
-- Nobody waits for the disk: what is forgotten is done again.
UPDATE noetl.command
SET lease_until = coalesce($4, clock_timestamp()) + $3::bigint * interval '1 microsecond'
FROM unnest($1::bigint[], $2::bigint[]) AS held (execution_id, command_id)
WHERE
    command.execution_id = held.execution_id
    AND command.command_id = held.command_id
    AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
