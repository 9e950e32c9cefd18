-- Dead messages of these are gone for good; ?1 is a JSON array of their ids.
DELETE FROM outbox WHERE outbox_id IN (SELECT value FROM json_each(?1)) AND dead_at IS NOT NULL
