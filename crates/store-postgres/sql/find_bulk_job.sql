-- Finds a bulk job.
SELECT body::text AS body FROM noetl.bulk_job WHERE job_id = $1
