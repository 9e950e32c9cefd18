-- Deletes at most ?2 chunks of the output of an execution.
DELETE FROM log_chunk
WHERE
    execution_id = ?1
    AND position IN (
        SELECT position FROM log_chunk WHERE execution_id = ?1 ORDER BY position LIMIT +?2
    )
