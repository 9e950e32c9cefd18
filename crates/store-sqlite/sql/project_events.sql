-- Stores projected events, skipping known ids, and returns the ids of the new ones; ?1 is a JSON
-- array of [id, execution, time, envelope].
INSERT INTO projected_event (event_id, execution_id, created_at, envelope)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3
FROM json_each(?1)
WHERE true
ON CONFLICT DO NOTHING
RETURNING event_id
