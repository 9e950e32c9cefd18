DELETE FROM execution_index WHERE execution_id = ?1
