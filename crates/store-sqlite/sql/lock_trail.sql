-- Selects the ends of the audit trail; the transaction excludes other writers.
INSERT INTO audit_head (id, before_number, before_digest, last_number, last_digest)
VALUES (1, 0, zeroblob(32), 0, zeroblob(32))
ON CONFLICT (id) DO UPDATE SET id = excluded.id
RETURNING before_number, before_digest, last_number, last_digest
