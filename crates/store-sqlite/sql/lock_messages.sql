-- Selects the attempts of messages that are not dead; ?1 is a JSON array of ids.
SELECT outbox_id, attempts
FROM outbox
WHERE outbox_id IN (SELECT value FROM json_each(?1)) AND dead_at IS NULL
