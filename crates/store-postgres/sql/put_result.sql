-- Stores a value once for its execution, and its name, unless the execution is deleted. The same value
-- under the same name keeps its reference, with the later of both expiries.
WITH kept AS (
    INSERT INTO noetl.result_store (execution_id, sha256, body, loose_since)
    VALUES ($1, $4, $9, $7)
    ON CONFLICT (execution_id, sha256) DO UPDATE SET loose_since = excluded.loose_since
    WHERE result_store.loose_since IS NOT NULL
)
INSERT INTO noetl.result_ref (
    execution_id, name, result_id, sha256, scope, source_step, created_at, expires_at
)
SELECT $1, $2, $3, $4, $5, $6, $7, $8
WHERE NOT EXISTS (SELECT FROM noetl.tombstone WHERE tombstone.execution_id = $1)
ON CONFLICT (execution_id, name, sha256) DO UPDATE SET
    expires_at = CASE
        WHEN result_ref.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL
        ELSE greatest(result_ref.expires_at, excluded.expires_at)
    END
RETURNING execution_id, name, result_id, sha256, scope, source_step, created_at, expires_at
