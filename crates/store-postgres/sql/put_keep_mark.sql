INSERT INTO noetl.keep_mark (execution_id, body)
VALUES ($1, $2::text::json)
ON CONFLICT (execution_id) DO UPDATE SET body = excluded.body
