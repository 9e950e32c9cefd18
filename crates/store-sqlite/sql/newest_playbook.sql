-- Selects the newest version of the playbook at a path.
SELECT catalog_id, path, version, kind, content, created_at, archived_at
FROM catalog
WHERE path = ?1
ORDER BY version DESC
LIMIT 1
