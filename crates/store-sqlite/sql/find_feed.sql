SELECT name, filter, cursor, created_at, moved_at, failures, failure, retry_at
FROM feed
WHERE name = ?1
