-- Selects the credentials that are not sealed under a key version, ordered by key.
SELECT name AS key, credential_id AS id, key_version, wrapped_key, data_encrypted
FROM noetl.credential
WHERE name > $2 AND key_version <> $1
ORDER BY name
LIMIT $3
