-- How often messages that are not dead have been taken; ?1 is a JSON array of their ids.
SELECT outbox_id, attempts
FROM outbox
WHERE outbox_id IN (SELECT value FROM json_each(?1)) AND dead_at IS NULL
