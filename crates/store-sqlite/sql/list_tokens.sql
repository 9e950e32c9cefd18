-- Selects the first ?2 tokens whose name follows ?1.
SELECT token_id, name, digest, body, created_at, expires_at, used_at
FROM token
WHERE name > ?1
ORDER BY name
LIMIT +?2
