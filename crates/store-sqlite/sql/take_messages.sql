-- Takes the ?3 oldest messages at ?1 until ?2, of those that nobody has taken and those whose sender
-- has been silent for too long.
UPDATE outbox
SET attempts = attempts + 1, taken_until = ?2
WHERE outbox_id IN (
    SELECT outbox_id
    FROM (
        SELECT * FROM (
            SELECT outbox_id FROM outbox WHERE taken_until IS NULL ORDER BY outbox_id LIMIT +?3
        )
        UNION ALL
        SELECT * FROM (
            SELECT outbox_id FROM outbox
            WHERE taken_until IS NOT NULL AND taken_until <= ?1
            ORDER BY outbox_id
            LIMIT +?3
        )
    )
    ORDER BY outbox_id
    LIMIT +?3
)
RETURNING outbox_id, execution_id, message, attempts
