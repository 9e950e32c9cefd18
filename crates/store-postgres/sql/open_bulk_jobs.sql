-- Lists at most $1 bulk jobs that have not ended, oldest first.
SELECT body::text AS body FROM noetl.bulk_job WHERE is_open ORDER BY job_id LIMIT $1
