-- Lists all feeds by name.
SELECT name, filter, cursor, created_at, moved_at, failures, failure, retry_at
FROM feed
ORDER BY name
