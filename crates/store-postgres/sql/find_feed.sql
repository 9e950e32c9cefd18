SELECT name, filter::text AS filter, cursor, created_at, moved_at FROM noetl.feed WHERE name = $1
