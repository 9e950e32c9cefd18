-- Selects a variable and counts the access.
UPDATE transient
SET access_count = access_count + 1, accessed_at = ?3
WHERE execution_id = ?1 AND var_name = ?2
RETURNING var_name, var_type, var_value, source_step, created_at, accessed_at, access_count
