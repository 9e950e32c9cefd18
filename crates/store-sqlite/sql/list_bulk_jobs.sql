-- Lists at most ?2 bulk jobs older than ?1, newest first.
SELECT body FROM bulk_job WHERE job_id < ?1 ORDER BY job_id DESC LIMIT +?2
