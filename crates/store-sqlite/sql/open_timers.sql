-- Selects the timers of an execution.
SELECT timer_id, due_at
FROM timer
WHERE execution_id = ?1
