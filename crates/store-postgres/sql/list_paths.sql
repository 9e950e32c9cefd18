-- Lists every path after $2 at its newest version: archived paths if $3, active ones otherwise; with
-- the content if $4; only contents that contain $5.
SELECT catalog_id, path, version, kind, CASE WHEN $4 THEN content ELSE '' END AS content,
    created_at, archived_at
FROM (
    SELECT DISTINCT ON (path) catalog_id, path, version, kind, content, created_at, archived_at
    FROM noetl.catalog
    WHERE path > $2 AND (archived_at IS NOT NULL) = $3
    ORDER BY path, version DESC
) AS newest
WHERE $5 = '' OR strpos(content, $5) > 0
ORDER BY path
LIMIT $1
