-- Stores a feed, unless one with this name exists.
INSERT INTO noetl.feed (name, filter, cursor, created_at, moved_at)
VALUES ($1, $2::text::json, $3, $4, $5)
ON CONFLICT (name) DO NOTHING
