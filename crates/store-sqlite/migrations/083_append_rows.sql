-- Nothing here: SQLite has no types for rows.
SELECT 1;
