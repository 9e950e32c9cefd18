-- Deletes at most $2 chunks of the output of the execution $1.
DELETE FROM noetl.log_chunk
WHERE
    execution_id = $1
    AND position = ANY (
        ARRAY(
            SELECT position FROM noetl.log_chunk WHERE execution_id = $1 ORDER BY position LIMIT $2
        )
    )
