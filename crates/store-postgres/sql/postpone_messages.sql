-- Messages $2 were taken and not tried: they wait for $3 microseconds from now ($1, or this server's
-- own), and the attempt does not count.
-- Nobody waits for the disk: what is forgotten is done again.
UPDATE noetl.outbox
SET
    attempts = greatest(attempts - 1, 1),
    taken_until = coalesce($1, statement_timestamp()) + $3::bigint * interval '1 microsecond'
WHERE
    outbox_id = ANY ($2)
    AND taken_until IS NOT NULL
    AND failed_at IS NULL
    AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
