-- Selects the earliest due time of all schedules.
SELECT min(next_at) AS next_at FROM noetl.schedule WHERE next_at IS NOT NULL
