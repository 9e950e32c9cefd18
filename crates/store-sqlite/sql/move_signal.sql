-- Moves signal ?1 from state ?2 to ?3, for command ?5 of execution ?4; a signal that is assigned stays
-- with its command.
UPDATE sent_signal
SET state = ?3, execution_id = ?4, command_id = ?5
WHERE
    signal_id = ?1
    AND state = ?2
    AND (execution_id IS NULL OR (execution_id = ?4 AND command_id = ?5))
