-- Selects a credential by name.
SELECT credential_id, name, type, meta::text AS meta, tags, description, key_version, wrapped_key,
    data_encrypted, created_at, updated_at, policy::text AS policy
FROM noetl.credential
WHERE name = $1
