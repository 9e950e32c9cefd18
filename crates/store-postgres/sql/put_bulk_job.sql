-- Stores a bulk job, unless one was created under the same key.
INSERT INTO noetl.bulk_job (job_id, seq, is_open, request_key, ended_at, body)
VALUES ($1, $2, $3, $4, $5, $6::text::json)
ON CONFLICT DO NOTHING
