-- Failed and dead messages of these are fresh again; ?1 is a JSON array of their ids.
UPDATE outbox
SET attempts = 0, taken_until = NULL, failed_at = NULL, dead_at = NULL
WHERE outbox_id IN (SELECT value FROM json_each(?1)) AND failed_at IS NOT NULL
