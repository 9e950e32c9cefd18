-- Lists at most ?3 imported executions older than ?1, newest first, with folded path ?2, exact path
-- ?5 (NULL for any) and one of the statuses in the JSON array ?4.
SELECT body
FROM imported_execution
WHERE execution_id IN (
    SELECT found.execution_id
    FROM json_each(?4) AS wanted
    JOIN imported_execution AS found ON found.execution_id IN (
        SELECT one.execution_id
        FROM imported_execution AS one
        WHERE
            one.path_folded = ?2
            AND one.status = wanted.value
            AND one.execution_id < ?1
            AND (?5 IS NULL OR one.path = ?5)
        ORDER BY one.execution_id DESC
        LIMIT +?3
    )
    ORDER BY found.execution_id DESC
    LIMIT +?3
)
ORDER BY execution_id DESC
