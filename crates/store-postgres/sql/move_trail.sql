-- Moves the end of the audit trail to entry $1 with digest $2.
UPDATE noetl.audit_head SET last_number = $1, last_digest = $2 WHERE id = 1
