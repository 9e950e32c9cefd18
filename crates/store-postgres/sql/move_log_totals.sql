-- Sets the last position and the bytes of the logs of executions.
UPDATE noetl.log_total
SET position = moved.position, bytes = moved.bytes
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS moved (execution_id, position, bytes)
WHERE log_total.execution_id = moved.execution_id
