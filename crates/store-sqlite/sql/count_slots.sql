-- Counts the holders of limit ?1, and those of them that were told to end.
SELECT
    count(*) AS holders,
    count(*) FILTER (WHERE slot.is_ending) AS ending
FROM slot INDEXED BY slot_held
WHERE slot.limit_name = ?1 AND slot.granted_at IS NOT NULL
