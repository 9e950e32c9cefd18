-- Marks the execution $1 to be kept, unless it is deleted. A deletion that has locked the execution
-- comes first.
INSERT INTO noetl.keep_mark (execution_id, body)
SELECT execution_id, $2::text::json FROM noetl.execution WHERE execution_id = $1 FOR KEY SHARE
ON CONFLICT (execution_id) DO UPDATE SET body = excluded.body
