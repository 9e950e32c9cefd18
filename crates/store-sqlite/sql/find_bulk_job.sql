-- Finds a bulk job.
SELECT body FROM bulk_job WHERE job_id = ?1
