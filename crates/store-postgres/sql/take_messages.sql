-- Takes $3 messages other than notifications about executions for $2 microseconds from now ($1, or
-- the database clock): never-tried ones, oldest first, and ones due for a retry, of which $4 go first
-- and the others last. A message that has been taken $5 times becomes dead. The commit does not wait
-- for the disk: a lost update is repeated.
WITH fresh AS (
    SELECT outbox_id
    FROM noetl.outbox
    WHERE taken_until IS NULL AND NOT is_notification
    ORDER BY outbox_id
    LIMIT $3
    FOR UPDATE SKIP LOCKED
),
due AS (
    SELECT outbox_id, taken_until
    FROM noetl.outbox
    WHERE taken_until <= coalesce($1, statement_timestamp()) AND NOT is_notification
    ORDER BY taken_until, outbox_id
    LIMIT $3
    FOR UPDATE SKIP LOCKED
),
chosen AS (
    SELECT outbox_id
    FROM (
        SELECT outbox_id, 1 AS turn, outbox_id AS place FROM fresh
        UNION ALL
        SELECT outbox_id, CASE WHEN place <= $4 THEN 0 ELSE 2 END, place
        FROM (
            SELECT outbox_id, row_number() OVER (ORDER BY taken_until, outbox_id) AS place FROM due
        ) AS in_turn
    ) AS takeable
    ORDER BY turn, place
    LIMIT $3
)
UPDATE noetl.outbox
SET
    attempts = least(attempts + 1, $5::bigint),
    failed_at = CASE WHEN attempts >= $5 THEN coalesce($1, statement_timestamp()) END,
    dead_at = CASE WHEN attempts >= $5 THEN coalesce($1, statement_timestamp()) END,
    taken_until = CASE
        WHEN attempts >= $5 THEN 'infinity'
        ELSE coalesce($1, statement_timestamp()) + $2::bigint * interval '1 microsecond'
    END
WHERE
    outbox_id = ANY (ARRAY(SELECT outbox_id FROM chosen))
    AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
RETURNING outbox_id, execution_id, message::text AS message, attempts, dead_at IS NOT NULL AS is_dead
