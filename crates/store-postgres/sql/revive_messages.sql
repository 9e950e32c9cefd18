-- Resets the failed and dead messages among $1 to fresh ones.
UPDATE noetl.outbox
SET attempts = 0, taken_until = NULL, failed_at = NULL, dead_at = NULL
WHERE outbox_id = ANY ($1) AND failed_at IS NOT NULL
