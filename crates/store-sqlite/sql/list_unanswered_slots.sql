-- Selects at most ?2 grants, older than ?1, of which their holder may not know.
SELECT
    limit_name, execution_id, command_id, priority, on_conflict, asked_at, granted_at, is_ending
FROM slot
WHERE granted_at < ?1 AND is_answered = 0
ORDER BY granted_at
LIMIT +?2
