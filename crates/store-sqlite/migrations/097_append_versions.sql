-- Nothing here: SQLite has no functions.
SELECT 1;
