-- Selects those of the event ids ?1, a JSON array, that are already used.
SELECT event_id
FROM event
WHERE event_id IN (SELECT value FROM json_each(?1))
