-- Selects the $3 newest events of the schedule at path $1 before event $2.
SELECT seq, event, created_at
FROM noetl.schedule_event
WHERE path = $1 AND seq < $2
ORDER BY seq DESC
LIMIT $3
