-- Selects at most ?2 limits after name ?1, with their figures.
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
WHERE slot_limit.limit_name > ?1
ORDER BY slot_limit.limit_name
LIMIT +?2
