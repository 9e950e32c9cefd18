-- Locks the executions $1 against other writers and returns the ends of their logs and the time
-- ($4, or the database clock). All ids are between $2 and $3, which limits the scanned partitions.
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
