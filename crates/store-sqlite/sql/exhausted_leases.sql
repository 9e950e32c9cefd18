-- Selects at most ?3 leases, after the first ?4, that have expired at ?1 on commands that were leased ?2 times or more.
SELECT execution_id, command_id, attempt, lease_until AS waiting_since
FROM command
WHERE status = 'CLAIMED' AND lease_until <= ?1 AND attempt >= ?2
ORDER BY lease_until, position
LIMIT +?3
OFFSET +?4
