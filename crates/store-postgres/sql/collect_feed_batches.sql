-- Deletes places of the feed that are older than $1, at most $2 batches.
DELETE FROM noetl.feed_batch
WHERE position = ANY (
    ARRAY(SELECT position FROM noetl.feed_batch WHERE created_at < $1 ORDER BY created_at LIMIT $2)
)
