DELETE FROM unfolded_import
WHERE execution_id = ?1
