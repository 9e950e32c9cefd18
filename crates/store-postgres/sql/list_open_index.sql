-- Lists at most $6 open index entries of kind $1 after time $2, execution $3, command $4 and key
-- $5, oldest first.
SELECT key, execution_id, command_id, created_at
FROM noetl.execution_index
WHERE
    kind = $1
    AND (command_id >= 0 OR kind = 'awaited_slot')
    AND (created_at, execution_id, command_id, key) > ($2, $3, $4, $5)
ORDER BY created_at, execution_id, command_id, key
LIMIT $6
