-- Marks the deletion of an execution as complete, unless it has references or events left.
UPDATE tombstone
SET is_pending = 0
WHERE
    execution_id = ?1
    AND NOT EXISTS (
        SELECT 1 FROM payload_reference WHERE payload_reference.execution_id = ?1
    )
    AND NOT EXISTS (SELECT 1 FROM event WHERE event.execution_id = ?1)
RETURNING execution_id
