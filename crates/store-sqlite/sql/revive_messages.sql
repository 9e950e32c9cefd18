-- Resets the failed and dead messages among ?1, a JSON array of ids, to fresh ones.
UPDATE outbox
SET attempts = 0, taken_until = NULL, failed_at = NULL, dead_at = NULL
WHERE outbox_id IN (SELECT value FROM json_each(?1)) AND failed_at IS NOT NULL
