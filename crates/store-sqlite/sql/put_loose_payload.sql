-- Keeps a large value, once, that only a name refers to unless a log does already.
INSERT INTO payload (digest, body, loose_since)
VALUES (?1, ?2, ?3)
ON CONFLICT (digest) DO UPDATE SET loose_since = excluded.loose_since WHERE loose_since IS NOT NULL
