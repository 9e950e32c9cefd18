-- Selects at most $2 limits that can grant again now ($1, or the database clock).
SELECT limit_name
FROM noetl.slot_limit
WHERE next_at <= coalesce($1, statement_timestamp())
ORDER BY next_at
LIMIT $2
