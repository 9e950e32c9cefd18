-- The rows of one execution as they lie there.
SELECT seq, body
FROM event
WHERE execution_id = ?1
ORDER BY seq
