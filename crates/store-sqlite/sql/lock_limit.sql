-- Selects and locks a limit, with the time (?2).
SELECT amount, full_at, next_at, ?2 AS now
FROM slot_limit
WHERE limit_name = ?1
