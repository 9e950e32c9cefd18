-- Selects at most ?2 limits that can grant again now (?1).
SELECT limit_name
FROM slot_limit
WHERE next_at <= ?1
ORDER BY next_at
LIMIT +?2
