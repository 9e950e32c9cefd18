-- Lists at most ?5 index entries of kind ?1 with key ?2 before command ?4 of execution ?3, newest
-- execution first.
SELECT key, execution_id, command_id, created_at
FROM execution_index
WHERE
    kind = ?1
    AND key = ?2
    AND execution_id <= ?3
    AND (execution_id, command_id) < (?3, ?4)
ORDER BY execution_id DESC, command_id DESC
LIMIT +?5
