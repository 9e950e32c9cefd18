-- Selects limit ?1, with its figures.
SELECT
    slot_limit.limit_name,
    slot_limit.amount,
    (
        SELECT count(*) FROM slot
        WHERE
            slot.limit_name = slot_limit.limit_name
            AND slot.granted_at IS NOT NULL
    ) AS holders,
    (
        SELECT count(*) FROM slot
        WHERE slot.limit_name = slot_limit.limit_name AND slot.granted_at IS NULL
    ) AS queued,
    (
        SELECT min(slot.asked_at) FROM slot
        WHERE slot.limit_name = slot_limit.limit_name AND slot.granted_at IS NULL
    ) AS oldest_at
FROM slot_limit
WHERE slot_limit.limit_name = ?1
