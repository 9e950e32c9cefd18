-- Deletes the log chunks of executions; ?1 is a JSON array of their ids.
DELETE FROM log_chunk WHERE execution_id IN (SELECT value FROM json_each(?1))
