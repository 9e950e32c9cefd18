-- How many executions stand at $1; no more than $2 are counted.
SELECT count(*) FROM (SELECT 1 FROM noetl.execution WHERE status = $1 LIMIT $2) AS counted
