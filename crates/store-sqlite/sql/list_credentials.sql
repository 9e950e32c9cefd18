-- Lists credentials, newest first.
SELECT credential_id, name, type, meta, tags, description, key_version, wrapped_key,
    data_encrypted, created_at, updated_at, policy
FROM credential
WHERE
    (?1 IS NULL OR type = ?1)
    AND (?2 IS NULL OR instr(search_folded, ?2) > 0)
ORDER BY credential_id DESC
LIMIT +?3
