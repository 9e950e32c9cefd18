-- Deletes old audit entries.
DELETE FROM secret_audit
WHERE audit_id IN (
    SELECT audit_id FROM secret_audit WHERE occurred_at < ?1 ORDER BY occurred_at LIMIT +?2
)
