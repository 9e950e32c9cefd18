-- Stores the tombstone of the execution $1, whose other rows are deleted later. The payloads that are
-- stored for it are noted as references of it, so that they are looked at then; payloads that only
-- named results refer to are collected with their names.
WITH owned AS (
    INSERT INTO noetl.payload_reference (execution_id, sha256)
    SELECT execution_id, sha256
    FROM noetl.result_store
    WHERE execution_id = $1 AND loose_since IS NULL
    ON CONFLICT DO NOTHING
)
INSERT INTO noetl.tombstone (execution_id, deleted_at, is_pending, body)
VALUES ($1, $2, true, $3::text::json)
