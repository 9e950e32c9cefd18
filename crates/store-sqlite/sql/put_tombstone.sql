-- Stores the tombstone of an execution whose other rows are deleted later.
INSERT INTO tombstone (execution_id, deleted_at, is_pending, body) VALUES (?1, ?2, 1, ?3)
