-- Moves the places of batches to come behind those that are there, if the database has begun to count
-- its transactions anew.
UPDATE noetl.feed_shift
SET shift = last.position - pg_current_xact_id()::text::bigint + 1
FROM (SELECT position FROM noetl.feed_batch ORDER BY position DESC LIMIT 1) AS last
WHERE last.position >= noetl.feed_position()
