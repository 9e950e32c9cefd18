-- Keeps a large value, once.
INSERT INTO payload (digest, body)
VALUES (?1, ?2)
ON CONFLICT (digest) DO NOTHING
