DELETE FROM noetl.replay_fold WHERE execution_id = $1
