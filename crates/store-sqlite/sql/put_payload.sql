-- Stores a payload once, and marks it as referred to by an event log.
INSERT INTO payload (digest, body)
VALUES (?1, ?2)
ON CONFLICT (digest) DO UPDATE SET loose_since = NULL WHERE loose_since IS NOT NULL
