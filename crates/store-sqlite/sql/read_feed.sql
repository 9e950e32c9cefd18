-- Selects ?3 feed places after place ?2 of batch ?1, each with its event, or NULL if the event has
-- expired.
SELECT
    batch.position, place.key + 1 AS "index", place.value ->> 0 AS execution_id,
    place.value ->> 1 AS seq, event.event_id, event.created_at, event.prev_digest, event.body, execution.path
FROM (
    SELECT position, places FROM feed_batch WHERE position >= ?1 ORDER BY position LIMIT 1 + ?3
) AS batch
CROSS JOIN json_each(batch.places) AS place
LEFT JOIN event ON event.execution_id = place.value ->> 0 AND event.seq = place.value ->> 1
LEFT JOIN execution ON execution.execution_id = place.value ->> 0
WHERE (batch.position, place.key + 1) > (?1, ?2)
ORDER BY batch.position, place.key
LIMIT +?3
