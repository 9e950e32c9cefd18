-- Selects a playbook version by its catalog id.
SELECT catalog_id, path, version, kind, content, created_at, archived_at
FROM catalog
WHERE catalog_id = ?1
