-- Moves the beginning of the audit trail behind entry $1 with digest $2.
UPDATE noetl.audit_head SET before_number = $1, before_digest = $2 WHERE id = 1
