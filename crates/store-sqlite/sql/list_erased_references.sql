-- Selects at most ?1 references of deleted executions to large payloads.
SELECT payload_reference.execution_id, payload_reference.sha256
FROM tombstone
CROSS JOIN payload_reference ON payload_reference.execution_id = tombstone.execution_id
WHERE tombstone.is_pending = 1
LIMIT +?1
