-- Lists credentials, newest first.
SELECT credential_id, name, type, meta::text AS meta, tags, description, key_version, wrapped_key,
    data_encrypted, created_at, updated_at, policy::text AS policy
FROM noetl.credential
WHERE
    ($1::text IS NULL OR type = $1)
    AND ($2::text IS NULL OR strpos(search_folded, $2) > 0)
ORDER BY credential_id DESC
LIMIT $3
