-- Rows that are not under a version of the key, in the order of their keys.
SELECT cache_key AS key, catalog_id AS id, key_version, wrapped_key, data_encrypted
FROM noetl.keychain
WHERE cache_key > $2 AND key_version <> $1
ORDER BY cache_key
LIMIT $3
