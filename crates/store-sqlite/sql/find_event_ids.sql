-- Which of these event ids are taken; ?1 is a JSON array.
SELECT event_id
FROM event
WHERE event_id IN (SELECT value FROM json_each(?1))
