-- Marks an execution to be kept, unless it is deleted.
INSERT INTO keep_mark (execution_id, body)
SELECT execution_id, ?2 FROM execution WHERE execution_id = ?1
ON CONFLICT (execution_id) DO UPDATE SET body = excluded.body
