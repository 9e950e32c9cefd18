-- Keeps signal $1 again, which command $3 of execution $2 has refused.
UPDATE noetl.sent_signal
SET state = 'kept', execution_id = NULL, command_id = NULL
WHERE signal_id = $1 AND state = 'assigned' AND execution_id = $2 AND command_id = $3
