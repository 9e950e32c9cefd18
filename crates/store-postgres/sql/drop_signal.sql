-- Deletes signal $1 unless it is being delivered or was delivered.
DELETE FROM noetl.sent_signal
WHERE signal_id = $1 AND state = 'kept'
