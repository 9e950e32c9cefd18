DELETE FROM log_total WHERE execution_id = ?1
