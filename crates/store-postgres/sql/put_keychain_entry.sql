-- Stores a keychain entry, replacing one with the same cache key.
INSERT INTO noetl.keychain (
    cache_key, keychain_name, catalog_id, scope_type, execution_id, key_version, wrapped_key,
    data_encrypted, expires_at, auto_renew, renew_config, access_count, accessed_at, created_at
)
VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::text::json, $12, $13, $14
)
ON CONFLICT (cache_key) DO UPDATE SET
    keychain_name = excluded.keychain_name,
    catalog_id = excluded.catalog_id,
    scope_type = excluded.scope_type,
    execution_id = excluded.execution_id,
    key_version = excluded.key_version,
    wrapped_key = excluded.wrapped_key,
    data_encrypted = excluded.data_encrypted,
    expires_at = excluded.expires_at,
    auto_renew = excluded.auto_renew,
    renew_config = excluded.renew_config,
    access_count = excluded.access_count,
    accessed_at = excluded.accessed_at,
    created_at = excluded.created_at
