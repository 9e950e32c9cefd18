-- Selects the fork points (execution ids $1, seqs $2) whose event is stored, with the digest of that
-- event if it is known. The digest of an event is in the next event or, for the last event, in the
-- execution.
SELECT
    origin.execution_id AS fork_execution_id,
    point.seq AS fork_seq,
    CASE WHEN origin.seq = point.seq THEN origin.head_digest ELSE next.prev_digest END AS digest
FROM unnest($1::bigint[], $2::bigint[]) AS point (execution_id, seq)
JOIN noetl.execution AS origin
    ON origin.execution_id = point.execution_id AND origin.seq >= point.seq
LEFT JOIN noetl.event AS next
    ON next.execution_id = point.execution_id AND next.seq = point.seq + 1
-- The origin cannot be deleted before the fork is written.
FOR KEY SHARE OF origin
