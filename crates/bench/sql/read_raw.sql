-- Selects the raw rows of one execution.
SELECT seq, body::text
FROM noetl.event
WHERE execution_id = $1
ORDER BY seq
