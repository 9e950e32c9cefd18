-- Deletes the log sources of executions $1.
DELETE FROM noetl.log_source WHERE execution_id = ANY($1::bigint[])
