-- Writes all rows of a batch and returns the database time. The arguments are in the order of
-- migrations/083_append_rows.sql.
SELECT noetl.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13), clock_timestamp() AS now
