SELECT body::text AS body FROM noetl.keep_mark WHERE execution_id = $1
