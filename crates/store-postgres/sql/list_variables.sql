-- Lists the variables of an execution, by name.
SELECT var_name, var_type, var_value::text AS var_value, source_step, created_at,
    accessed_at, access_count
FROM noetl.transient
WHERE execution_id = $1
ORDER BY var_name
LIMIT $2
