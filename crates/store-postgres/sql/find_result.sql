-- Selects a named result unless it has expired.
SELECT execution_id, name, result_id, sha256, scope, source_step, created_at, expires_at
FROM noetl.result_ref
WHERE
    execution_id = $1
    AND name = $2
    AND result_id = $3
    AND (expires_at IS NULL OR expires_at > $4)
