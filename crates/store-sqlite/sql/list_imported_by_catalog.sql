-- Lists imported executions like list_imported_by_path.sql, of playbook version ?6, with a folded
-- path that contains ?2 (NULL for any).
SELECT body
FROM imported_execution
WHERE execution_id IN (
    SELECT found.execution_id
    FROM json_each(?4) AS wanted
    JOIN imported_execution AS found ON found.execution_id IN (
        SELECT one.execution_id
        FROM imported_execution AS one
        WHERE
            one.catalog_id = ?6
            AND one.status = wanted.value
            AND one.execution_id < ?1
            AND (?2 IS NULL OR instr(one.path_folded, ?2) > 0)
            AND (?5 IS NULL OR one.path = ?5)
        ORDER BY one.execution_id DESC
        LIMIT +?3
    )
    ORDER BY found.execution_id DESC
    LIMIT +?3
)
ORDER BY execution_id DESC
