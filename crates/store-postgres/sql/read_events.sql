-- At most $3 events of an execution after the one numbered $2. If events of another execution come
-- before its own, a row without a body tells up to which number, and of which execution.
SELECT
    fork_seq AS seq, fork_execution_id AS event_id, NULL AS created_at, NULL AS prev_digest,
    NULL AS body
FROM noetl.execution
WHERE execution_id = $1 AND fork_seq > $2
UNION ALL
(
    SELECT seq, event_id, created_at, prev_digest, body::text AS body
    FROM noetl.event
    WHERE execution_id = $1 AND seq > $2
    ORDER BY seq
    LIMIT $3
)
