-- Extends all leases of worker ?1 until ?2, including expired ones.
UPDATE command
SET lease_until = ?2
WHERE status = 'CLAIMED' AND lease_until > 0 AND worker_id = ?1
