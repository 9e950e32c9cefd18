-- Stores a new version of a playbook.
INSERT INTO noetl.catalog (catalog_id, path, version, kind, content, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
