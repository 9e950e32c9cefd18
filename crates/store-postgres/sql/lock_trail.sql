-- Selects the ends of the audit trail, and makes other writers wait.
INSERT INTO noetl.audit_head (id, before_number, before_digest, last_number, last_digest)
VALUES (1, 0, decode(repeat('00', 32), 'hex'), 0, decode(repeat('00', 32), 'hex'))
ON CONFLICT (id) DO UPDATE SET id = excluded.id
RETURNING before_number, before_digest, last_number, last_digest
