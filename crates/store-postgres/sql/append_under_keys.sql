-- Writes a batch that starts executions under keys. Returns the keys that are already held; if
-- there are any, nothing is written. The arguments are in the order of
-- migrations/096_append_under_keys.sql.
SELECT scope, name, execution_id, request, kept_until
FROM noetl.append_under_keys($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
