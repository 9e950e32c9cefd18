-- Stores projected events, skipping known ids; ?1 is a JSON array of [id, execution, time,
-- envelope].
INSERT INTO projected_event (event_id, execution_id, created_at, envelope)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3
FROM json_each(?1)
WHERE true
ON CONFLICT DO NOTHING
