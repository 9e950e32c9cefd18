-- Selects at most $3 projected events of execution $1, ordered by id, without the first $2.
SELECT envelope::text AS envelope
FROM noetl.projected_event
WHERE execution_id = $1
ORDER BY event_id
OFFSET $2
LIMIT $3
