-- Lists every path after ?2 at its newest version: archived paths if ?3, active ones otherwise; with
-- the content if ?4; only contents that contain ?5. With max(), SQLite takes the other columns from
-- the row with the maximum.
SELECT catalog_id, path, version, kind, content, created_at, archived_at
FROM (
    SELECT catalog_id, path, max(version) AS version, kind,
        CASE WHEN ?4 THEN content ELSE '' END AS content, created_at, archived_at
    FROM catalog
    WHERE path > ?2 AND (archived_at IS NOT NULL) = ?3
    GROUP BY path
)
WHERE ?5 = '' OR instr(content, ?5) > 0
ORDER BY path
LIMIT +?1
