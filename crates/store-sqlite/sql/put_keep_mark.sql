INSERT INTO keep_mark (execution_id, body)
VALUES (?1, ?2)
ON CONFLICT (execution_id) DO UPDATE SET body = excluded.body
