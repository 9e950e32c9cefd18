-- Takes $3 notifications about executions for $2 microseconds from now ($1, or the database clock):
-- those due for a retry, longest first, then never-tried ones, oldest first. A message that has been
-- taken $4 times becomes dead. The commit does not wait for the disk: a lost update is repeated.
WITH chosen AS (
    SELECT outbox_id
    FROM noetl.outbox
    WHERE
        is_notification
        AND (taken_until IS NULL OR taken_until <= coalesce($1, statement_timestamp()))
    ORDER BY taken_until, outbox_id
    LIMIT $3
    FOR UPDATE SKIP LOCKED
)
UPDATE noetl.outbox
SET
    attempts = least(attempts + 1, $4::bigint),
    failed_at = CASE WHEN attempts >= $4 THEN coalesce($1, statement_timestamp()) END,
    dead_at = CASE WHEN attempts >= $4 THEN coalesce($1, statement_timestamp()) END,
    taken_until = CASE
        WHEN attempts >= $4 THEN 'infinity'
        ELSE coalesce($1, statement_timestamp()) + $2::bigint * interval '1 microsecond'
    END
WHERE
    outbox_id = ANY (ARRAY(SELECT outbox_id FROM chosen))
    AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
RETURNING outbox_id, execution_id, message::text AS message, attempts, dead_at IS NOT NULL AS is_dead
