-- Selects the ends of the audit trail.
SELECT before_number, before_digest, last_number, last_digest FROM noetl.audit_head WHERE id = 1
