-- The leases of worker ?1 that live at ?2 run out then.
UPDATE command
SET lease_until = ?2
WHERE status = 'CLAIMED' AND lease_until > ?2 AND worker_id = ?1
