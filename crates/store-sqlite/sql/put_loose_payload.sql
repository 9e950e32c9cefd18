-- Stores a payload once, referred to by a named result only, unless an event log already refers to
-- it.
INSERT INTO payload (digest, body, loose_since)
VALUES (?4, ?9, ?7)
ON CONFLICT (digest) DO UPDATE SET loose_since = excluded.loose_since WHERE loose_since IS NOT NULL
