-- Selects the keychain entries that are not sealed under a key version, ordered by key.
SELECT cache_key AS key, catalog_id AS id, key_version, wrapped_key, data_encrypted
FROM keychain
WHERE cache_key > ?2 AND key_version <> ?1
ORDER BY cache_key
LIMIT +?3
