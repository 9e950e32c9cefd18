-- Assigns signal $1, which is kept, to command $3 of execution $2.
UPDATE noetl.sent_signal
SET state = 'assigned', execution_id = $2, command_id = $3
WHERE signal_id = $1 AND state = 'kept'
