DELETE FROM noetl.execution WHERE execution_id = $1
