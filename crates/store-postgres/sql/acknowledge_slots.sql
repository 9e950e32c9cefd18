-- Records that the holders (limits $1, executions $2, commands $3) know of their grants.
UPDATE noetl.slot
SET is_answered = true
FROM unnest($1::text[], $2::bigint[], $3::bigint[])
    AS known (limit_name, execution_id, command_id)
WHERE
    slot.limit_name = known.limit_name
    AND slot.execution_id = known.execution_id
    AND slot.command_id = known.command_id
