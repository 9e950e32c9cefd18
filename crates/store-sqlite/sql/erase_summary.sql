DELETE FROM execution WHERE execution_id = ?1
