-- Saves a snapshot, unless a later one exists.
INSERT INTO snapshot (execution_id, seq, shape, body)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (execution_id) DO UPDATE SET
    seq = excluded.seq,
    shape = excluded.shape,
    body = excluded.body
WHERE excluded.seq >= snapshot.seq
