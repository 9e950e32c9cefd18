-- How often messages that are not dead have been taken, kept from others.
SELECT outbox_id, attempts
FROM noetl.outbox
WHERE outbox_id = ANY ($1) AND dead_at IS NULL
ORDER BY outbox_id
FOR UPDATE
