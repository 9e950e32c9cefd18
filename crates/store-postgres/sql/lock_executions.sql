-- Keeps other writers off the executions $1 (all between $2 and $3, which is what finds their
-- partitions), and tells where their logs end and what time it is ($4, or this server's own).
WITH locked AS (
    SELECT execution_id, seq, last_event_at, head_digest
    FROM noetl.execution
    WHERE execution_id = ANY ($1) AND execution_id BETWEEN $2 AND $3
    ORDER BY execution_id
    FOR NO KEY UPDATE
)
SELECT
    coalesce($4, clock_timestamp()) AS now,
    locked.execution_id,
    locked.seq,
    locked.last_event_at,
    locked.head_digest
FROM (SELECT 1) AS once
LEFT JOIN locked ON true
