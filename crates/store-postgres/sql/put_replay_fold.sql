-- Saves a replay up to an event, unless the execution is deleted. The commit does not wait for the disk: a lost replay is computed
-- again.
INSERT INTO noetl.replay_fold
    (execution_id, projection, seq, last_event_id, last_event_at, shape, body)
SELECT $1, $2, $3, $4, $5, $6, $7
WHERE
    (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
    AND NOT EXISTS (SELECT FROM noetl.tombstone WHERE tombstone.execution_id = $1)
ON CONFLICT (execution_id, projection, seq) DO UPDATE SET
    last_event_id = excluded.last_event_id,
    last_event_at = excluded.last_event_at,
    shape = excluded.shape,
    body = excluded.body
