-- Adds index entries or changes their times; ?1 is a JSON array of
-- [[kind, key, execution id, command id], time].
INSERT INTO execution_index (kind, key, execution_id, command_id, created_at)
SELECT value ->> '$[0][0]', value ->> '$[0][1]', value ->> '$[0][2]', value ->> '$[0][3]',
    value ->> '$[1]'
FROM json_each(?1)
WHERE true
ON CONFLICT (kind, key, execution_id, command_id) DO UPDATE SET created_at = excluded.created_at
