-- Takes the ?3 oldest notifications at ?1 until ?2, except those of an execution that has an
-- earlier one in flight. A message that has been taken ?4 times becomes dead.
UPDATE outbox
SET
    failed_at = CASE WHEN attempts >= ?4 THEN ?1 END,
    dead_at = CASE WHEN attempts >= ?4 THEN ?1 END,
    taken_until = CASE WHEN attempts >= ?4 THEN 9223372036854775807 ELSE ?2 END,
    attempts = min(attempts + 1, ?4)
WHERE outbox_id IN (
    SELECT outbox_id
    FROM outbox AS owed
    WHERE
        outbox_id > 0
        AND message ->> 'type' = 'command_ready'
        AND (taken_until IS NULL OR taken_until <= ?1)
        AND NOT EXISTS (
            SELECT 1
            FROM outbox AS earlier
            WHERE
                earlier.execution_id = owed.execution_id
                AND earlier.outbox_id < owed.outbox_id
                AND earlier.message ->> 'type' = 'command_ready'
                AND earlier.taken_until > ?1
                AND earlier.dead_at IS NULL
        )
    ORDER BY outbox_id
    LIMIT +?3
)
RETURNING outbox_id, execution_id, message, attempts, dead_at IS NOT NULL AS is_dead
