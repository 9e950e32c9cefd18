-- Selects the attempts of commands $2 of an execution whose output is stored.
SELECT command_id, attempt
FROM noetl.log_source
WHERE execution_id = $1 AND command_id = ANY($2::bigint[])
