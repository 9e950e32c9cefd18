-- Selects version $2 of the playbook at a path.
SELECT catalog_id, path, version, kind, content, created_at, archived_at
FROM noetl.catalog
WHERE path = $1 AND version = $2
