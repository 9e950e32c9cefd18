-- Saves a snapshot, unless a later one exists or the execution is deleted. The commit does not wait for
-- the disk: a lost snapshot is computed again.
INSERT INTO noetl.projection_snapshot (execution_id, seq, shape, body)
SELECT $1, $2, $3, $4
WHERE
    (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
    AND NOT EXISTS (SELECT FROM noetl.tombstone WHERE tombstone.execution_id = $1)
ON CONFLICT (execution_id) DO UPDATE SET
    seq = excluded.seq,
    shape = excluded.shape,
    body = excluded.body
WHERE excluded.seq >= projection_snapshot.seq
