-- Ends the active leases of worker ?1 at ?2.
UPDATE command
SET lease_until = ?2
WHERE status = 'CLAIMED' AND lease_until > ?2 AND worker_id = ?1
