-- Deletes at most ?2 events of an execution.
DELETE FROM event
WHERE event_id IN (SELECT event_id FROM event WHERE execution_id = ?1 ORDER BY seq LIMIT +?2)
