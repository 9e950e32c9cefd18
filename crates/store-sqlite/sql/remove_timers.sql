-- Deletes ended timers; ?1 is a JSON array of [execution id, timer id].
DELETE FROM timer
WHERE (execution_id, timer_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?1))
