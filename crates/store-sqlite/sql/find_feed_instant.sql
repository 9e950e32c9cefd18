-- The last batch before the first that was written at ?1 or later, and how many events it has; the
-- last one if none was.
SELECT position, json_array_length(places) AS "index"
FROM feed_batch
WHERE position < coalesce(
    (SELECT min(position) FROM feed_batch WHERE created_at >= ?1), 9223372036854775807
)
ORDER BY position DESC
LIMIT 1
