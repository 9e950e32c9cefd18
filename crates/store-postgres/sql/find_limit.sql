-- Selects limit $1, with its figures.
SELECT
    slot_limit.limit_name,
    slot_limit.amount::text AS amount,
    (
        SELECT count(*) FROM noetl.slot
        WHERE
            slot.limit_name = slot_limit.limit_name
            AND slot.granted_at IS NOT NULL
    ) AS holders,
    (
        SELECT count(*) FROM noetl.slot
        WHERE slot.limit_name = slot_limit.limit_name AND slot.granted_at IS NULL
    ) AS queued,
    (
        SELECT min(slot.asked_at) FROM noetl.slot
        WHERE slot.limit_name = slot_limit.limit_name AND slot.granted_at IS NULL
    ) AS oldest_at
FROM noetl.slot_limit
WHERE slot_limit.limit_name = $1
