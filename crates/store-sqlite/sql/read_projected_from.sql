-- Selects at most ?3 projected events of execution ?1, ordered by id, without the first ?2.
SELECT envelope
FROM projected_event
WHERE execution_id = ?1
ORDER BY event_id
LIMIT +?3 OFFSET +?2
