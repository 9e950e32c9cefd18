DELETE FROM replay_fold WHERE execution_id = ?1
