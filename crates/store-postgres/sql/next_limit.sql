-- Selects the time at which the first limit can grant again.
SELECT min(next_at) AS next_at FROM noetl.slot_limit
