-- Selects the last feed batch and its number of events.
SELECT position, json_array_length(places) AS "index"
FROM feed_batch
ORDER BY position DESC
LIMIT 1
