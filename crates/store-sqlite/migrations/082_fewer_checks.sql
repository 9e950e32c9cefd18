-- Nothing here: SQLite parses the checks of a table once.
SELECT 1;
