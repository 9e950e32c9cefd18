-- Selects at most ?2 commands that are leased at ?1, the latest end of the lease first.
SELECT execution_id, command_id, pool, step_name, attempt, worker_id, lease_until
FROM command INDEXED BY command_lease
WHERE status = 'CLAIMED' AND lease_until > ?1
ORDER BY lease_until DESC, execution_id, command_id
LIMIT +?2
