-- Lists at most ?2 imported executions older than ?1, newest first, with status ?3, a path that
-- contains ?4, path ?5 and playbook version ?6; NULL selects any.
SELECT body
FROM imported_execution
WHERE
    execution_id < ?1
    AND (?3 IS NULL OR status = ?3)
    AND (?4 IS NULL OR instr(path_folded, ?4) > 0)
    AND (?5 IS NULL OR path = ?5)
    AND (?6 IS NULL OR catalog_id = ?6)
ORDER BY execution_id DESC
LIMIT +?2
