-- Deletes sent messages; ?1 is a JSON array of ids.
DELETE FROM outbox WHERE outbox_id IN (SELECT value FROM json_each(?1))
RETURNING outbox_id
