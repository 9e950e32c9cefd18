SELECT body FROM keep_mark WHERE execution_id = ?1
