-- The leases of worker ?1 last until ?2, also those that have run out.
UPDATE command
SET lease_until = ?2
WHERE status = 'CLAIMED' AND lease_until > 0 AND worker_id = ?1
