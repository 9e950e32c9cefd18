-- Deletes one variable of an execution, or all.
DELETE FROM noetl.transient
WHERE execution_id = $1 AND ($2::text IS NULL OR var_name = $2)
