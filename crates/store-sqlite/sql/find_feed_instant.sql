-- Selects the last feed batch before the first one written at ?1 or later, and its number of
-- events; the last batch if none was written since.
SELECT position, json_array_length(places) AS "index"
FROM feed_batch
WHERE position < coalesce(
    (SELECT min(position) FROM feed_batch WHERE created_at >= ?1), 9223372036854775807
)
ORDER BY position DESC
LIMIT 1
