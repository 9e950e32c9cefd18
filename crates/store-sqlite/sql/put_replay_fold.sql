-- Saves a replay up to an event, unless the execution is deleted.
INSERT INTO replay_fold
    (execution_id, projection, seq, last_event_id, last_event_at, shape, body)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
WHERE NOT EXISTS (SELECT 1 FROM tombstone WHERE tombstone.execution_id = ?1)
ON CONFLICT (execution_id, projection, seq) DO UPDATE SET
    last_event_id = excluded.last_event_id,
    last_event_at = excluded.last_event_at,
    shape = excluded.shape,
    body = excluded.body
