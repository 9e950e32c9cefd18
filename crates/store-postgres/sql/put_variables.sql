-- Sets variables of an execution, replacing existing ones including their counters,
-- unless the execution is deleted.
INSERT INTO noetl.transient (
    execution_id, var_name, var_type, var_value, source_step, created_at, accessed_at, access_count
)
SELECT $1, var_name, var_type, var_value::json, source_step, created_at, NULL, 0
FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
    AS new (var_name, var_type, var_value, source_step, created_at)
WHERE NOT EXISTS (SELECT FROM noetl.tombstone WHERE tombstone.execution_id = $1)
ON CONFLICT (execution_id, var_name) DO UPDATE SET
    var_type = excluded.var_type,
    var_value = excluded.var_value,
    source_step = excluded.source_step,
    created_at = excluded.created_at,
    accessed_at = NULL,
    access_count = 0
