-- Selects the attempts of commands of an execution whose output is stored; ?2 is a JSON array of
-- command ids.
SELECT command_id, attempt
FROM log_source
WHERE execution_id = ?1 AND command_id IN (SELECT value FROM json_each(?2))
