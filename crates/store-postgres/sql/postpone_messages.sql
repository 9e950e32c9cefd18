-- Returns taken messages $1 that were not tried: they wait for $2 microseconds from now ($3, or the
-- database clock), and the attempt does not count. The commit does not wait for the disk: a lost
-- update is repeated.
UPDATE noetl.outbox
SET
    attempts = greatest(attempts - 1, 1),
    taken_until = coalesce($3, statement_timestamp()) + $2::bigint * interval '1 microsecond'
WHERE
    outbox_id = ANY ($1)
    AND taken_until IS NOT NULL
    AND failed_at IS NULL
    AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
