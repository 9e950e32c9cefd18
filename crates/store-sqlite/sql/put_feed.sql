-- Stores a feed, unless one with this name exists.
INSERT INTO feed (name, filter, cursor, created_at, moved_at)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (name) DO NOTHING
