-- Selects the event with id $1.
SELECT
    event.execution_id, event.seq, event.event_id, event.created_at, event.prev_digest,
    event.body::text AS body
FROM noetl.event_place AS place
JOIN noetl.event ON event.execution_id = place.execution_id AND event.seq = place.seq
WHERE place.event_id = $1
