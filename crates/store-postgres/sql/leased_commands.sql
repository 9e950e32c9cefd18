-- Selects at most $2 commands that are leased now ($1, or the database clock), the latest end of the
-- lease first.
SELECT execution_id, command_id, pool, step_name, attempt, worker_id, lease_until
FROM noetl.command
WHERE status = 'CLAIMED' AND lease_until > coalesce($1, statement_timestamp())
ORDER BY lease_until DESC, execution_id, command_id
LIMIT $2
