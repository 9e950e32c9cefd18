-- Selects an object unless it has expired.
SELECT media_type, sha256, body, updated_at, expires_at
FROM object_store
WHERE object_key = ?1 AND (expires_at IS NULL OR expires_at > ?2)
