-- Deletes one variable of an execution, or all.
DELETE FROM transient
WHERE execution_id = ?1 AND (?2 IS NULL OR var_name = ?2)
