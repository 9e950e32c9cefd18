-- Stores an object, replacing one with the same key.
INSERT INTO noetl.object_store (object_key, media_type, sha256, body, updated_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (object_key) DO UPDATE SET
    media_type = excluded.media_type,
    sha256 = excluded.sha256,
    body = excluded.body,
    updated_at = excluded.updated_at,
    expires_at = excluded.expires_at
