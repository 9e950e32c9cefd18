-- Selects the earliest due time of all timers.
SELECT min(due_at) AS due_at FROM timer
