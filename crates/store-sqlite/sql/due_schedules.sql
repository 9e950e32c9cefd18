-- Selects at most ?2 schedules due at ?1, longest due first.
SELECT path, seq, standing, playbook, timing, next_at, updated_at
FROM schedule
WHERE next_at <= ?1
ORDER BY next_at, path
LIMIT +?2
