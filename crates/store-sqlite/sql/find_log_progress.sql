-- Selects what is stored of some attempts, and the latest attempt of each command that has not ended;
-- ?1 is a JSON array of [execution id, command id, attempt].
SELECT
    held.value ->> 0 AS execution_id,
    held.value ->> 1 AS command_id,
    held.value ->> 2 AS attempt,
    coalesce(source.chunks, 0) AS chunks,
    coalesce(source.bytes, 0) AS bytes,
    command.attempt AS open_attempt
FROM json_each(?1) AS held
LEFT JOIN log_source AS source
    ON source.execution_id = held.value ->> 0
    AND source.command_id = held.value ->> 1
    AND source.attempt = held.value ->> 2
LEFT JOIN command
    ON command.execution_id = held.value ->> 0 AND command.command_id = held.value ->> 1
