-- At most $3 events of an execution after the one numbered $2.
SELECT seq, event_id, created_at, body::text AS body
FROM noetl.event
WHERE execution_id = $1 AND seq > $2
ORDER BY seq
LIMIT $3
