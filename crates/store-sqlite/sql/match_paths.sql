-- At most ?2 folded paths of executions that contain ?1, found by leaping from path to path.
WITH RECURSIVE known (path) AS (
    SELECT min(path_folded) FROM execution
    UNION ALL
    SELECT (SELECT min(path_folded) FROM execution WHERE path_folded > known.path)
    FROM known
    WHERE known.path IS NOT NULL
)
SELECT path FROM known WHERE instr(path, ?1) > 0 LIMIT +?2
