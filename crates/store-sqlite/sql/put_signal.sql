-- Stores signal ?1 for the index key ?2, unless one was stored under the same deduplication key ?3.
INSERT INTO sent_signal (
    signal_id, index_key, once_key, state, execution_id, command_id, expires_at, body
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT DO NOTHING
