-- At most ?2 schedules to be looked at by ?1, the longest due first.
SELECT path, seq, standing, playbook, timing, next_at, updated_at
FROM schedule
WHERE next_at <= ?1
ORDER BY next_at, path
LIMIT +?2
