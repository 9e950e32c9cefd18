-- Deletes the log totals of at most ?2 executions whose last output is older than ?1.
DELETE FROM log_total
WHERE execution_id IN (
    SELECT execution_id FROM log_total WHERE last_at < ?1 ORDER BY last_at LIMIT +?2
)
RETURNING execution_id
