-- Nothing here: SQLite has no functions, its appends are scripts.
SELECT 1;
