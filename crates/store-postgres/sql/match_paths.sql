-- At most $2 folded paths of executions that contain $1, found by leaping from path to path.
WITH RECURSIVE known (path) AS (
    SELECT min(path_folded) FROM noetl.execution
    UNION ALL
    SELECT (SELECT min(path_folded) FROM noetl.execution WHERE path_folded > known.path)
    FROM known
    WHERE known.path IS NOT NULL
)
SELECT path FROM known WHERE strpos(path, $1) > 0 LIMIT $2
