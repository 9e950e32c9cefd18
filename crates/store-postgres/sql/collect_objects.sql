-- Deletes expired objects.
DELETE FROM noetl.object_store
WHERE object_key IN (
    SELECT object_key FROM noetl.object_store WHERE expires_at < $1 ORDER BY expires_at LIMIT $2
)
