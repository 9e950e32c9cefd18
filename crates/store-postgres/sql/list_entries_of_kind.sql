-- Lists the $3 first paths whose newest version is of kind $1, which is not Playbook, with their
-- contents: archived paths if $2, active ones otherwise.
SELECT catalog_id, path, version, kind, content, created_at, archived_at
FROM noetl.catalog AS entry
WHERE
    kind = $1
    AND kind <> 'Playbook'
    AND (archived_at IS NOT NULL) = $2
    AND NOT EXISTS (
        SELECT 1
        FROM noetl.catalog AS newer
        WHERE newer.path = entry.path AND newer.version > entry.version
    )
ORDER BY path
LIMIT $3
