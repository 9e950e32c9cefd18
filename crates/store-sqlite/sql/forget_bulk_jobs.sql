-- Deletes bulk jobs that ended before ?1, at most ?2, with their results.
DELETE FROM bulk_job
WHERE job_id IN (
    SELECT job_id FROM bulk_job WHERE ended_at < ?1 ORDER BY ended_at LIMIT +?2
)
