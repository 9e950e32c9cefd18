-- The furthest replay of a shape that goes no further than the event $4, that with the id $5 (any if
-- none) and the instant $6 (any if none).
SELECT seq, last_event_id, last_event_at, shape, body
FROM noetl.replay_fold
WHERE
    execution_id = $1
    AND projection = $2
    AND shape = $3
    AND seq <= $4
    AND ($5::bigint IS NULL OR last_event_id <= $5)
    AND ($6::timestamptz IS NULL OR last_event_at <= $6)
ORDER BY seq DESC
LIMIT 1
