-- Marks signal ?1 as delivered, which is assigned to command ?3 of execution ?2; it expires at ?4 unless
-- it expires before.
UPDATE sent_signal
SET state = 'delivered', expires_at = min(expires_at, ?4)
WHERE signal_id = ?1 AND state = 'assigned' AND execution_id = ?2 AND command_id = ?3
