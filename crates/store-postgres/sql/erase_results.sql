DELETE FROM noetl.result_ref WHERE execution_id = $1
