-- Lists accesses to secrets, newest first. Ids increase with time.
SELECT audit_id, occurred_at, credential, operation, outcome, worker_id, execution_id,
    parent_execution_id, kek_version, notes
FROM secret_audit
WHERE
    (?1 IS NULL OR credential = ?1)
    AND (?2 IS NULL OR execution_id = ?2)
    AND (?3 IS NULL OR occurred_at >= ?3)
    AND (?4 IS NULL OR occurred_at < ?4)
ORDER BY audit_id DESC
LIMIT +?5
