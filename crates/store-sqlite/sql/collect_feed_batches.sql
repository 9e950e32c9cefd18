-- Deletes places of the feed that are older than ?1, at most ?2 batches.
DELETE FROM feed_batch
WHERE position IN (
    SELECT position FROM feed_batch WHERE created_at < ?1 ORDER BY created_at LIMIT +?2
)
