DELETE FROM noetl.keep_mark WHERE execution_id = $1
