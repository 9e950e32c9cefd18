-- Changes bulk job $1, unless another process has changed it first; $2 is the number of the change.
-- The key $4 stays.
UPDATE noetl.bulk_job
SET seq = $2, is_open = $3, ended_at = $5, body = $6::text::json
WHERE job_id = $1 AND seq = $2 - 1 AND request_key IS NOT DISTINCT FROM $4::text
RETURNING job_id
