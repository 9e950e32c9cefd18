-- Grants requests (limits $1, executions $2, commands $3) at $4.
UPDATE noetl.slot
SET granted_at = $4
FROM unnest($1::text[], $2::bigint[], $3::bigint[])
    AS granted (limit_name, execution_id, command_id)
WHERE
    slot.limit_name = granted.limit_name
    AND slot.execution_id = granted.execution_id
    AND slot.command_id = granted.command_id
