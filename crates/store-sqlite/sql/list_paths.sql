-- Lists every path after ?2 at its newest version, without the content. With max(), SQLite takes
-- the other columns from the row with the maximum.
SELECT catalog_id, path, max(version) AS version, kind, '' AS content, created_at
FROM catalog
WHERE path > ?2
GROUP BY path
ORDER BY path
LIMIT +?1
