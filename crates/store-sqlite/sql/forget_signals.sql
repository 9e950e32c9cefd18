-- Deletes signals that expired before ?1, at most ?2; a signal that is being delivered stays.
DELETE FROM sent_signal
WHERE signal_id IN (
    SELECT signal_id
    FROM sent_signal
    WHERE expires_at < ?1 AND state <> 'assigned'
    ORDER BY expires_at
    LIMIT +?2
)
