-- Counts executions like count_by_time.sql, with a folded path that contains ?8. Distinct paths are
-- found with a loose index scan. All bars together read no more entries than they can count; if there
-- are more, at least one bar has the largest count.
WITH RECURSIVE known (path) AS (
    SELECT min(path_folded) FROM execution
    UNION ALL
    SELECT (SELECT min(path_folded) FROM execution WHERE path_folded > known.path)
    FROM known
    WHERE known.path IS NOT NULL
)
SELECT found.bucket, found.status, count(*) AS count
FROM (
    SELECT wanted.value AS status, (one.execution_id - ?3) / ?4 AS bucket
    FROM known
    CROSS JOIN json_each(?7) AS wanted
    CROSS JOIN execution AS one
    WHERE
        instr(known.path, ?8) > 0
        AND one.path_folded = known.path
        AND one.status = wanted.value
        AND one.execution_id < ?2
        AND one.execution_id >= ?1
    LIMIT +?5 * ?6 * json_array_length(?7)
) AS found
GROUP BY found.bucket, found.status
