-- Deletes expired keychain entries.
DELETE FROM noetl.keychain
WHERE cache_key IN (
    SELECT cache_key FROM noetl.keychain WHERE expires_at < $1 ORDER BY expires_at LIMIT $2
)
