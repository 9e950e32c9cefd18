-- Selects the fork points whose event is stored, with the digest of that event if it is known; ?1 is
-- a JSON array of [execution id, seq]. The digest of an event is in the next event or, for the last
-- event, in the execution.
SELECT
    origin.execution_id AS fork_execution_id,
    point.value ->> 1 AS fork_seq,
    CASE WHEN origin.seq = point.value ->> 1 THEN origin.head_digest ELSE next.prev_digest END
        AS digest
FROM json_each(?1) AS point
CROSS JOIN execution AS origin
    ON origin.execution_id = point.value ->> 0 AND origin.seq >= point.value ->> 1
LEFT JOIN event AS next
    ON next.execution_id = origin.execution_id AND next.seq = (point.value ->> 1) + 1
