-- Adds requests for slots; known ones stay as they are. ?1 is a JSON array of [limit, execution id,
-- command id, priority, on_conflict, time].
INSERT INTO slot (limit_name, execution_id, command_id, priority, on_conflict, asked_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5
FROM json_each(?1)
WHERE true
ON CONFLICT (limit_name, execution_id, command_id) DO NOTHING
