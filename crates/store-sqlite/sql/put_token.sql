-- Stores a token unless its name or its digest is taken.
INSERT INTO token (token_id, name, digest, body, created_at, expires_at, used_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT DO NOTHING
