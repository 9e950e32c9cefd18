SELECT name, filter, cursor, created_at, moved_at FROM feed WHERE name = ?1
