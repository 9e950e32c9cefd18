-- Lists at most ?3 imported executions older than ?1 whose folded path contains ?2, with one of the
-- statuses in the JSON array ?4, newest first, in the way of list_executions_by_part.sql.
WITH RECURSIVE known (path) AS (
    SELECT min(path_folded) FROM imported_execution
    UNION ALL
    SELECT (SELECT min(path_folded) FROM imported_execution WHERE path_folded > known.path)
    FROM known
    WHERE known.path IS NOT NULL
),
newest (path, status, execution_id) AS (
    SELECT
        known.path,
        wanted.value,
        (
            SELECT max(execution_id)
            FROM imported_execution
            WHERE path_folded = known.path AND status = wanted.value AND execution_id < ?1
        )
    FROM known CROSS JOIN json_each(?4) AS wanted
    WHERE instr(known.path, ?2) > 0
),
leading (path, status) AS (
    SELECT path, status
    FROM newest
    WHERE execution_id IS NOT NULL
    ORDER BY execution_id DESC
    LIMIT +?3
)
SELECT body
FROM imported_execution
WHERE execution_id IN (
    SELECT found.execution_id
    FROM leading
    JOIN imported_execution AS found ON found.execution_id IN (
        SELECT one.execution_id
        FROM imported_execution AS one
        WHERE
            one.path_folded = leading.path
            AND one.status = leading.status
            AND one.execution_id < ?1
        ORDER BY one.execution_id DESC
        LIMIT +?3
    )
    ORDER BY found.execution_id DESC
    LIMIT +?3
)
ORDER BY execution_id DESC
