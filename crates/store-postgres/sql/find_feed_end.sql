-- The last settled batch, and how many events it has.
SELECT position, cardinality(seqs)::bigint AS index
FROM noetl.feed_batch
WHERE position < noetl.feed_horizon()
ORDER BY position DESC
LIMIT 1
