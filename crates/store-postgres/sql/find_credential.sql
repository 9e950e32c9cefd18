-- Selects a credential by id.
SELECT credential_id, name, type, meta::text AS meta, tags, description, key_version, wrapped_key,
    data_encrypted, created_at, updated_at, policy::text AS policy
FROM noetl.credential
WHERE credential_id = $1
