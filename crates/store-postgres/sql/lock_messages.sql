-- Selects and locks the attempts of messages that are not dead.
SELECT outbox_id, attempts
FROM noetl.outbox
WHERE outbox_id = ANY ($1) AND dead_at IS NULL
ORDER BY outbox_id
FOR UPDATE
