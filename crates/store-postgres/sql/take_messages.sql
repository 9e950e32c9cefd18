-- Takes the $3 oldest messages for $2 microseconds from now ($1, or this server's own), of those that
-- nobody has taken and those whose sender has been silent for too long.
-- Nobody waits for the disk: what is forgotten is done again.
WITH fresh AS (
    SELECT outbox_id
    FROM noetl.outbox
    WHERE taken_until IS NULL
    ORDER BY outbox_id
    LIMIT $3
    FOR UPDATE SKIP LOCKED
),
lost AS (
    SELECT outbox_id
    FROM noetl.outbox
    WHERE taken_until <= coalesce($1, statement_timestamp())
    ORDER BY outbox_id
    LIMIT $3
    FOR UPDATE SKIP LOCKED
),
oldest AS (
    SELECT outbox_id
    FROM (SELECT outbox_id FROM fresh UNION ALL SELECT outbox_id FROM lost) AS takeable
    ORDER BY outbox_id
    LIMIT $3
)
UPDATE noetl.outbox
SET
    attempts = attempts + 1,
    taken_until = coalesce($1, statement_timestamp()) + $2::bigint * interval '1 microsecond'
WHERE
    outbox_id = ANY (ARRAY(SELECT outbox_id FROM oldest))
    AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
RETURNING outbox_id, execution_id, message::text AS message, attempts
