-- Saves a fold, unless a later one is there.
-- Nobody waits for the disk: what is forgotten is done again.
INSERT INTO noetl.projection_snapshot (execution_id, seq, shape, body)
SELECT $1, $2, $3, $4
WHERE (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
ON CONFLICT (execution_id) DO UPDATE SET
    seq = excluded.seq,
    shape = excluded.shape,
    body = excluded.body
WHERE excluded.seq >= projection_snapshot.seq
