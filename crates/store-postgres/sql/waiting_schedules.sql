-- Lists the first $2 schedules after path $1 with waiting instants, by path.
SELECT path, seq, standing, playbook, timing, next_at, updated_at
FROM noetl.schedule
WHERE is_waiting AND path > $1
ORDER BY path
LIMIT $2
