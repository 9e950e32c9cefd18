-- Selects the first $1 tokens.
SELECT token_id, name, digest, body, created_at, expires_at, used_at
FROM noetl.token
ORDER BY name
LIMIT $1
