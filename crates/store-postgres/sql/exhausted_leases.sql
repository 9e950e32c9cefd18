-- Selects at most $3 leases, after the first $4, that have expired ($1 is now, or the database clock) on commands that
-- were leased $2 times or more.
SELECT execution_id, command_id, attempt, lease_until AS waiting_since
FROM noetl.command
WHERE
    status = 'CLAIMED'
    AND lease_until <= coalesce($1, statement_timestamp())
    AND attempt >= $2
ORDER BY lease_until, position
LIMIT $3
OFFSET $4
