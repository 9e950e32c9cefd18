-- Selects at most $1 references of deleted executions to large payloads.
SELECT reference.execution_id, reference.sha256
FROM (
    SELECT execution_id FROM noetl.tombstone WHERE is_pending ORDER BY execution_id
) AS erased
CROSS JOIN LATERAL (
    SELECT execution_id, sha256
    FROM noetl.payload_reference
    WHERE payload_reference.execution_id = erased.execution_id
    LIMIT $1
) AS reference
LIMIT $1
