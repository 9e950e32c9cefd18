-- Selects those of the event ids $1, all between $2 and $3, that are already used.
SELECT event_id
FROM noetl.event_place
WHERE event_id = ANY ($1) AND event_id BETWEEN $2 AND $3
