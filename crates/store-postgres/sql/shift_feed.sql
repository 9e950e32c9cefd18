-- Shifts the positions of future feed batches behind the existing ones, if the transaction ids of
-- the database have restarted (for example after a restore).
UPDATE noetl.feed_shift
SET shift = last.position - pg_current_xact_id()::text::bigint + 1
FROM (SELECT position FROM noetl.feed_batch ORDER BY position DESC LIMIT 1) AS last
WHERE last.position >= noetl.feed_position()
