DELETE FROM noetl.execution_index WHERE execution_id = $1
