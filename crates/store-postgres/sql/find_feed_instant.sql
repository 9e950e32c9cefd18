-- Selects the last feed batch before the first one written at $1 or later, and its number of
-- events; the last visible batch if none was written since.
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
