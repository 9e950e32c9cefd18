-- Deletes expired named results.
DELETE FROM result_ref
WHERE (execution_id, name, result_id) IN (
    SELECT execution_id, name, result_id FROM result_ref WHERE expires_at < ?1 ORDER BY expires_at LIMIT +?2
)
