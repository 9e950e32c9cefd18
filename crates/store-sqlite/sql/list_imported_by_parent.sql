-- Lists imported executions like list_imported.sql, for the children of ?7.
SELECT body
FROM imported_execution
WHERE
    parent_execution_id = ?7
    AND execution_id < ?1
    AND (?3 IS NULL OR status = ?3)
    AND (?4 IS NULL OR instr(path_folded, ?4) > 0)
    AND (?5 IS NULL OR path = ?5)
    AND (?6 IS NULL OR catalog_id = ?6)
ORDER BY execution_id DESC
LIMIT +?2
