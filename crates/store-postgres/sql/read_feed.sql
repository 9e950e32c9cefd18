-- Selects $3 feed places after place $2 of batch $1, each with its event, or NULL if the event has
-- expired.
SELECT
    batch.position, place.index, place.execution_id, place.seq, event.event_id, event.created_at, event.prev_digest,
    event.body::text AS body, execution.path
FROM (
    SELECT position, executions, seqs
    FROM noetl.feed_batch
    WHERE position >= $1 AND position < noetl.feed_horizon()
    ORDER BY position
    LIMIT $3 + 1
) AS batch
CROSS JOIN LATERAL unnest(batch.executions, batch.seqs)
    WITH ORDINALITY AS place (execution_id, seq, index)
LEFT JOIN noetl.event
    ON event.execution_id = place.execution_id AND event.seq = place.seq
LEFT JOIN noetl.execution ON execution.execution_id = place.execution_id
WHERE (batch.position, place.index) > ($1, $2)
ORDER BY batch.position, place.index
LIMIT $3
