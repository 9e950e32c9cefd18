-- Selects at most ?1 deleted executions with rows that are left.
SELECT execution_id FROM tombstone WHERE is_pending = 1 ORDER BY execution_id LIMIT +?1
