-- Finds signal ?1.
SELECT signal_id, index_key, once_key, state, execution_id, command_id, expires_at, body
FROM sent_signal
WHERE signal_id = ?1
