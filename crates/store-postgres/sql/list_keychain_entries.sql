-- Lists the keychain entries of a playbook version.
SELECT cache_key, keychain_name, catalog_id, scope_type, execution_id, key_version, wrapped_key,
    data_encrypted, expires_at, auto_renew, renew_config::text AS renew_config,
    access_count, accessed_at, created_at
FROM noetl.keychain
WHERE catalog_id = $1
ORDER BY cache_key
LIMIT $2
