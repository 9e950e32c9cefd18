-- Records that messages $2 failed now ($1, or the database clock) with errors $3. Each waits for $4
-- microseconds, or becomes dead if its delay is NULL.
UPDATE noetl.outbox
SET
    attempts = greatest(attempts, 1),
    failed_at = coalesce($1, statement_timestamp()),
    last_error = failed.error,
    dead_at = CASE WHEN failed.delay IS NULL THEN coalesce($1, statement_timestamp()) END,
    taken_until = coalesce(
        coalesce($1, statement_timestamp()) + failed.delay * interval '1 microsecond', 'infinity'
    )
FROM unnest($2::bigint[], $3::text[], $4::bigint[]) AS failed (id, error, delay)
WHERE outbox_id = failed.id AND dead_at IS NULL
