-- Selects the first ?2 requests in the queue of limit ?1.
SELECT
    limit_name, execution_id, command_id, priority, on_conflict, asked_at, granted_at, is_ending
FROM slot
WHERE limit_name = ?1 AND granted_at IS NULL
ORDER BY priority DESC, asked_at, execution_id, command_id
LIMIT +?2
