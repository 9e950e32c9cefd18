-- Selects the time at which the first limit can grant again.
SELECT min(next_at) AS next_at FROM slot_limit
