-- Selects a keychain entry and counts the access.
UPDATE keychain
SET access_count = access_count + 1, accessed_at = ?2
WHERE cache_key = ?1
RETURNING cache_key, keychain_name, catalog_id, scope_type, execution_id, key_version, wrapped_key,
    data_encrypted, expires_at, auto_renew, renew_config, access_count, accessed_at, created_at
