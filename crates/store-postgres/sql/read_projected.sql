SELECT envelope::text AS envelope
FROM noetl.projected_event
WHERE execution_id = $1 AND event_id > $2
ORDER BY event_id
LIMIT $3
