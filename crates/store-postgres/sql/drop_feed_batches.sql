-- Deletes feed batches that are older than $1 and whose executions are all gone.
DELETE FROM noetl.feed_batch
WHERE position IN (
    SELECT position
    FROM noetl.feed_batch
    WHERE
        created_at < $1
        AND NOT EXISTS (
            SELECT FROM unnest(executions) AS told (id)
            -- A lookup by id for each execution avoids a scan of whole partitions.
            WHERE (SELECT true FROM noetl.execution WHERE execution_id = told.id LIMIT 1)
        )
    ORDER BY created_at
    LIMIT $2
)
