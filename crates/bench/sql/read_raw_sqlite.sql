-- Selects the raw rows of one execution.
SELECT seq, body
FROM event
WHERE execution_id = ?1
ORDER BY seq
