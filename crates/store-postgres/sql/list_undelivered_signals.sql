-- Lists at most $2 signals for the index key $1 after $3 that are not delivered, in order.
SELECT
    signal_id, index_key, once_key, state, execution_id, command_id, expires_at, body::text AS body
FROM noetl.sent_signal
WHERE index_key = $1 AND signal_id > $3 AND state <> 'delivered'
ORDER BY signal_id
LIMIT $2
