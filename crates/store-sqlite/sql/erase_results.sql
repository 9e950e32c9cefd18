DELETE FROM result_ref WHERE execution_id = ?1
