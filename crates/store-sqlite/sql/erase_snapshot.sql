DELETE FROM snapshot WHERE execution_id = ?1
