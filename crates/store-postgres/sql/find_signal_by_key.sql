-- Finds the signal that was stored under deduplication key $1.
SELECT
    signal_id, index_key, once_key, state, execution_id, command_id, expires_at, body::text AS body
FROM noetl.sent_signal
WHERE once_key = $1
