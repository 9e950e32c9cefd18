-- Saves a fold, unless a later one is there.
INSERT INTO noetl.projection_snapshot (execution_id, seq, shape, body)
VALUES ($1, $2, $3, $4)
ON CONFLICT (execution_id) DO UPDATE SET
    seq = excluded.seq,
    shape = excluded.shape,
    body = excluded.body
WHERE excluded.seq >= projection_snapshot.seq
