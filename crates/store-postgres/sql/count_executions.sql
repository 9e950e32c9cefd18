-- Counts the executions with status $1, at most $2.
SELECT count(*) AS count FROM (SELECT 1 FROM noetl.execution WHERE status = $1 LIMIT $2) AS counted
