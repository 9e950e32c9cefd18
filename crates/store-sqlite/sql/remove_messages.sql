-- These messages have been sent; ?1 is a JSON array of their ids.
DELETE FROM outbox WHERE outbox_id IN (SELECT value FROM json_each(?1))
RETURNING outbox_id
