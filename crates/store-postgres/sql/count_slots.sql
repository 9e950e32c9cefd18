-- Counts the holders of limit $1, and those of them that were told to end. A grant of a rate is
-- held by nobody.
SELECT
    count(*) FILTER (WHERE NOT slot_limit.is_rate) AS holders,
    count(*) FILTER (WHERE slot.is_ending) AS ending
FROM noetl.slot
JOIN noetl.slot_limit ON slot_limit.limit_name = slot.limit_name
WHERE slot.limit_name = $1 AND slot.granted_at IS NOT NULL
