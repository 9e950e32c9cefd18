-- Deletes slots and requests: limits $1, executions $2 and commands $3.
DELETE FROM noetl.slot
USING unnest($1::text[], $2::bigint[], $3::bigint[])
    AS ended (limit_name, execution_id, command_id)
WHERE
    slot.limit_name = ended.limit_name
    AND slot.execution_id = ended.execution_id
    AND slot.command_id = ended.command_id
