-- Lists at most ?5 index entries of kind ?1 with key ?2 after command ?4 of execution ?3, oldest
-- execution first.
SELECT key, execution_id, command_id, created_at
FROM execution_index
WHERE
    kind = ?1
    AND key = ?2
    AND execution_id >= ?3
    AND (execution_id, command_id) > (?3, ?4)
ORDER BY execution_id, command_id
LIMIT +?5
