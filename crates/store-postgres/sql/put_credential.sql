-- Stores a credential, replacing one with the same name if it has the same id; the creation time is
-- kept.
INSERT INTO noetl.credential (
    credential_id, name, type, search_folded, meta, tags, description, key_version, wrapped_key,
    data_encrypted, created_at, updated_at, policy
)
VALUES ($1, $2, $3, $4, $5::text::json, $6, $7, $8, $9, $10, $11, $12, $13::text::json)
ON CONFLICT (name) DO UPDATE SET
    type = excluded.type,
    search_folded = excluded.search_folded,
    meta = excluded.meta,
    tags = excluded.tags,
    description = excluded.description,
    key_version = excluded.key_version,
    wrapped_key = excluded.wrapped_key,
    data_encrypted = excluded.data_encrypted,
    updated_at = excluded.updated_at,
    policy = excluded.policy
WHERE credential.credential_id = excluded.credential_id
RETURNING credential_id, name, type, meta::text AS meta, tags, description, key_version, wrapped_key,
    data_encrypted, created_at, updated_at, policy::text AS policy
