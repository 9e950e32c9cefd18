-- Records an access to a secret.
INSERT INTO secret_audit (
    audit_id, occurred_at, credential, operation, outcome, worker_id, execution_id,
    parent_execution_id, kek_version, notes
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
