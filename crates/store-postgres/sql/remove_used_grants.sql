-- Deletes grants of rates (limits $1, executions $2, commands $3), which nobody holds.
DELETE FROM noetl.slot
USING
    unnest($1::text[], $2::bigint[], $3::bigint[]) AS known (limit_name, execution_id, command_id),
    noetl.slot_limit
WHERE
    slot.limit_name = known.limit_name
    AND slot.execution_id = known.execution_id
    AND slot.command_id = known.command_id
    AND slot.granted_at IS NOT NULL
    AND slot_limit.limit_name = slot.limit_name
    AND slot_limit.is_rate
