-- Selects the event with id ?1.
SELECT execution_id, seq, event_id, created_at, prev_digest, body
FROM event
WHERE event_id = ?1
