-- Selects the last visible feed batch and its number of events.
SELECT position, cardinality(seqs)::bigint AS index
FROM noetl.feed_batch
WHERE position < noetl.feed_horizon()
ORDER BY position DESC
LIMIT 1
