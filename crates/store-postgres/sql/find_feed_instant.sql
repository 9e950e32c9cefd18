-- The last batch before the first that was written at $1 or later, and how many events it has; the
-- last settled one if none was.
SELECT position, cardinality(seqs)::bigint AS index
FROM noetl.feed_batch
WHERE
    position < coalesce(
        (SELECT min(position) FROM noetl.feed_batch WHERE created_at >= $1),
        noetl.feed_horizon()
    )
    AND position < noetl.feed_horizon()
ORDER BY position DESC
LIMIT 1
