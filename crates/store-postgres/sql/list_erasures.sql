-- Selects at most $1 deleted executions with rows that are left.
SELECT execution_id FROM noetl.tombstone WHERE is_pending ORDER BY execution_id LIMIT $1
