-- The last batch, and how many events it has.
SELECT position, json_array_length(places) AS "index"
FROM feed_batch
ORDER BY position DESC
LIMIT 1
