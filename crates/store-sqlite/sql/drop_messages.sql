-- Deletes the dead messages among ?1, a JSON array of ids.
DELETE FROM outbox WHERE outbox_id IN (SELECT value FROM json_each(?1)) AND dead_at IS NOT NULL
