DELETE FROM feed WHERE name = ?1
