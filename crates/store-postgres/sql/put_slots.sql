-- Adds requests for slots (limits $1, executions $2, commands $3, priorities $4, conflicts $5, times
-- $6); known ones stay as they are.
INSERT INTO noetl.slot (limit_name, execution_id, command_id, priority, on_conflict, asked_at)
SELECT limit_name, execution_id, command_id, priority, on_conflict, asked_at
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::timestamptz[])
    AS new (limit_name, execution_id, command_id, priority, on_conflict, asked_at)
ON CONFLICT (limit_name, execution_id, command_id) DO NOTHING
