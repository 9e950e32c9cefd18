-- Takes ?3 messages other than notifications about executions at ?1 until ?2: never-tried ones, oldest first, and ones due for a retry, of
-- which ?4 go first and the others last. A message that has been taken ?5 times becomes dead.
UPDATE outbox
SET
    failed_at = CASE WHEN attempts >= ?5 THEN ?1 END,
    dead_at = CASE WHEN attempts >= ?5 THEN ?1 END,
    taken_until = CASE WHEN attempts >= ?5 THEN 9223372036854775807 ELSE ?2 END,
    attempts = min(attempts + 1, ?5)
WHERE outbox_id IN (
    SELECT outbox_id
    FROM (
        SELECT * FROM (
            SELECT outbox_id, 1 AS turn, outbox_id AS place
            FROM outbox
            WHERE taken_until IS NULL AND message ->> 'type' <> 'notification'
            ORDER BY outbox_id
            LIMIT +?3
        )
        UNION ALL
        SELECT outbox_id, CASE WHEN place <= ?4 THEN 0 ELSE 2 END, place
        FROM (
            SELECT outbox_id, row_number() OVER (ORDER BY taken_until, outbox_id) AS place
            FROM (
                SELECT outbox_id, taken_until
                FROM outbox
                WHERE
                    taken_until IS NOT NULL
                    AND taken_until <= ?1
                    AND message ->> 'type' <> 'notification'
                ORDER BY taken_until, outbox_id
                LIMIT +?3
            )
        )
    )
    ORDER BY turn, place
    LIMIT +?3
)
RETURNING outbox_id, execution_id, message, attempts, dead_at IS NOT NULL AS is_dead
