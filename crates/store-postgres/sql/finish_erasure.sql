-- Marks the deletion of the execution $1 as complete, unless it has references or events left.
UPDATE noetl.tombstone
SET is_pending = false
WHERE
    execution_id = $1
    AND NOT EXISTS (SELECT FROM noetl.payload_reference WHERE payload_reference.execution_id = $1)
    AND NOT EXISTS (SELECT FROM noetl.event WHERE event.execution_id = $1)
RETURNING execution_id
