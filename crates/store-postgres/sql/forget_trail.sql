-- Deletes the entries of the audit trail up to number $1.
DELETE FROM noetl.audit_trail WHERE number <= $1
