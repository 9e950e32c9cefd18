-- Selects at most ?3 events of an execution after seq ?2. If shared events of a fork's origin come
-- first, a row without a body gives the fork point: its seq and the origin's execution id.
SELECT
    fork_seq AS seq, fork_execution_id AS event_id, 0 AS created_at, NULL AS prev_digest,
    NULL AS body
FROM execution
WHERE execution_id = ?1 AND fork_seq > ?2
UNION ALL
SELECT * FROM (
    SELECT seq, event_id, created_at, prev_digest, body
    FROM event
    WHERE execution_id = ?1 AND seq > ?2
    ORDER BY seq
    LIMIT +?3
)
