-- Takes ?3 notifications about executions at ?1 until ?2: never-tried ones, oldest first, then those
-- due for a retry, longest first. A message that has been taken ?4 times becomes dead.
UPDATE outbox
SET
    failed_at = CASE WHEN attempts >= ?4 THEN ?1 END,
    dead_at = CASE WHEN attempts >= ?4 THEN ?1 END,
    taken_until = CASE WHEN attempts >= ?4 THEN 9223372036854775807 ELSE ?2 END,
    attempts = min(attempts + 1, ?4)
WHERE outbox_id IN (
    SELECT outbox_id
    FROM outbox
    WHERE
        message ->> 'type' = 'notification'
        AND (taken_until IS NULL OR taken_until <= ?1)
    ORDER BY taken_until, outbox_id
    LIMIT +?3
)
RETURNING outbox_id, execution_id, message, attempts, dead_at IS NOT NULL AS is_dead
