-- Deletes the log chunks of executions $1.
DELETE FROM noetl.log_chunk WHERE execution_id = ANY($1::bigint[])
