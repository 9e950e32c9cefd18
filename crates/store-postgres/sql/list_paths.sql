-- Lists every path after $2 at its newest version, without the content.
SELECT DISTINCT ON (path) catalog_id, path, version, kind, '' AS content, created_at
FROM noetl.catalog
WHERE path > $2
ORDER BY path, version DESC
LIMIT $1
