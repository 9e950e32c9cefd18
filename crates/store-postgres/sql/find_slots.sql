-- Selects the slots among some (limits $1, executions $2, commands $3), held or waiting.
SELECT slot.limit_name, slot.execution_id, slot.command_id
FROM unnest($1::text[], $2::bigint[], $3::bigint[])
    AS asked (limit_name, execution_id, command_id)
INNER JOIN noetl.slot
    ON
        slot.limit_name = asked.limit_name
        AND slot.execution_id = asked.execution_id
        AND slot.command_id = asked.command_id
