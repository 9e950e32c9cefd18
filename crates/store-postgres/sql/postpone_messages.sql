-- Returns taken messages $2 that were not tried: they wait for $3 microseconds from now ($1, or the
-- database clock), and the attempt does not count. The commit does not wait for the disk: a lost
-- update is repeated.
UPDATE noetl.outbox
SET
    attempts = greatest(attempts - 1, 1),
    taken_until = coalesce($1, statement_timestamp()) + $3::bigint * interval '1 microsecond'
WHERE
    outbox_id = ANY ($2)
    AND taken_until IS NOT NULL
    AND failed_at IS NULL
    AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
