-- Sets or moves timers; ?1 is a JSON array of [execution id, timer id, due at].
INSERT INTO timer (execution_id, timer_id, due_at)
SELECT value ->> 0, value ->> 1, value ->> 2
FROM json_each(?1)
WHERE true
ON CONFLICT (execution_id, timer_id) DO UPDATE SET due_at = excluded.due_at
