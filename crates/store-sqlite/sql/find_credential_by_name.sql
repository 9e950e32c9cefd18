-- Selects a credential by name.
SELECT credential_id, name, type, meta, tags, description, key_version, wrapped_key,
    data_encrypted, created_at, updated_at, policy
FROM credential
WHERE name = ?1
