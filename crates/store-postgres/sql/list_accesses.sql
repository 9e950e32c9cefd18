-- Lists accesses to secrets, newest first. Ids increase with time.
SELECT audit_id, occurred_at, credential, operation, outcome, worker_id, execution_id,
    parent_execution_id, kek_version, notes
FROM noetl.secret_audit
WHERE
    ($1::text IS NULL OR credential = $1)
    AND ($2::bigint IS NULL OR execution_id = $2)
    AND ($3::timestamptz IS NULL OR occurred_at >= $3)
    AND ($4::timestamptz IS NULL OR occurred_at < $4)
ORDER BY audit_id DESC
LIMIT $5
