SELECT body FROM tombstone WHERE execution_id = ?1
