DELETE FROM noetl.log_total WHERE execution_id = $1
