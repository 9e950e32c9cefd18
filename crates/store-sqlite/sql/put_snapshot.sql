-- Saves a snapshot, unless a later one exists or the execution is deleted.
INSERT INTO snapshot (execution_id, seq, shape, body)
SELECT ?1, ?2, ?3, ?4
WHERE NOT EXISTS (SELECT 1 FROM tombstone WHERE tombstone.execution_id = ?1)
ON CONFLICT (execution_id) DO UPDATE SET
    seq = excluded.seq,
    shape = excluded.shape,
    body = excluded.body
WHERE excluded.seq >= snapshot.seq
