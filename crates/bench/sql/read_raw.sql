-- The rows of one execution as they lie there.
SELECT seq, body::text
FROM noetl.event
WHERE execution_id = $1
ORDER BY seq
