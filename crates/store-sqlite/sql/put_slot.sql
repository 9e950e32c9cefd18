-- Adds a request for a slot of limit ?1; a known one stays as it is.
INSERT INTO slot (limit_name, execution_id, command_id, priority, on_conflict, asked_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (limit_name, execution_id, command_id) DO NOTHING
