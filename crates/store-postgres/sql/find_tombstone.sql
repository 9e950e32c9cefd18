SELECT body::text AS body FROM noetl.tombstone WHERE execution_id = $1
