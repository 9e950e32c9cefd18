-- Selects what is stored of the attempts $3 of commands $2 of executions $1, and the latest attempt of
-- each command that has not ended.
SELECT
    held.execution_id,
    held.command_id,
    held.attempt,
    coalesce(source.chunks, 0) AS chunks,
    coalesce(source.bytes, 0) AS bytes,
    command.attempt::bigint AS open_attempt
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS held (execution_id, command_id, attempt)
LEFT JOIN noetl.log_source AS source
    ON source.execution_id = held.execution_id
    AND source.command_id = held.command_id
    AND source.attempt = held.attempt
LEFT JOIN noetl.command
    ON command.execution_id = held.execution_id AND command.command_id = held.command_id
