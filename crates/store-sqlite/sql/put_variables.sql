-- Sets variables of an execution, replacing existing ones including their counters,
-- unless the execution is deleted.
INSERT INTO transient (
    execution_id, var_name, var_type, var_value, source_step, created_at, accessed_at, access_count
)
SELECT
    ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, NULL, 0
FROM json_each(?2)
WHERE NOT EXISTS (SELECT 1 FROM tombstone WHERE tombstone.execution_id = ?1)
ON CONFLICT (execution_id, var_name) DO UPDATE SET
    var_type = excluded.var_type,
    var_value = excluded.var_value,
    source_step = excluded.source_step,
    created_at = excluded.created_at,
    accessed_at = NULL,
    access_count = 0
