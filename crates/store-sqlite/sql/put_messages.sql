-- Adds messages to the outbox at ?2; ?1 is a JSON array of [execution id, message].
INSERT INTO outbox (execution_id, message, created_at)
SELECT value ->> 0, value -> 1, ?2
FROM json_each(?1)
