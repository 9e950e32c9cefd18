-- Lists all feeds by name.
SELECT name, filter::text AS filter, cursor, created_at, moved_at, failures, failure, retry_at
FROM noetl.feed
ORDER BY name
