-- Selects and locks a limit, with the time ($2, or the database clock).
SELECT amount::text AS amount, full_at, next_at, coalesce($2, clock_timestamp()) AS now
FROM noetl.slot_limit
WHERE limit_name = $1
FOR UPDATE
