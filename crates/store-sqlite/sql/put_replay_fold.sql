-- Saves a replay up to an event.
INSERT INTO replay_fold
    (execution_id, projection, seq, last_event_id, last_event_at, shape, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (execution_id, projection, seq) DO UPDATE SET
    last_event_id = excluded.last_event_id,
    last_event_at = excluded.last_event_at,
    shape = excluded.shape,
    body = excluded.body
