-- Rows that are not under a version of the key, in the order of their keys.
SELECT name AS key, credential_id AS id, key_version, wrapped_key, data_encrypted
FROM noetl.credential
WHERE name > $2 AND key_version <> $1
ORDER BY name
LIMIT $3
