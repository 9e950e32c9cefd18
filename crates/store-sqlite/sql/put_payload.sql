-- Keeps a large value, once. A log refers to it from now on.
INSERT INTO payload (digest, body)
VALUES (?1, ?2)
ON CONFLICT (digest) DO UPDATE SET loose_since = NULL WHERE loose_since IS NOT NULL
