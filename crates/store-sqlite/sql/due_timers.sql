-- Selects at most ?2 timers due at ?1 or before, earliest first.
SELECT execution_id, timer_id, due_at
FROM timer
WHERE due_at <= ?1
ORDER BY due_at, execution_id, timer_id
LIMIT +?2
