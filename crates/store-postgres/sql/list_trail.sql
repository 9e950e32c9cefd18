-- Selects the first $2 entries of the audit trail after number $1.
SELECT number, at, actor, action, subject, source, outcome, detail, digest
FROM noetl.audit_trail
WHERE number > $1
ORDER BY number
LIMIT $2
