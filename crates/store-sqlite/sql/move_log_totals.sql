-- Sets the last position and the bytes of the logs of executions; ?1 is a JSON array of [execution
-- id, position, bytes].
UPDATE log_total
SET position = moved.value ->> 1, bytes = moved.value ->> 2
FROM json_each(?1) AS moved
WHERE log_total.execution_id = moved.value ->> 0
