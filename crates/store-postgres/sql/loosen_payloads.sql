-- Releases the payloads $2 of deleted executions at $1; collect_payloads.sql deletes them.
UPDATE noetl.result_store
SET loose_since = coalesce($1, clock_timestamp())
WHERE
    sha256 = ANY ($2::bytea[])
    AND loose_since IS NULL
    AND NOT EXISTS (
        SELECT FROM noetl.execution WHERE execution.execution_id = result_store.execution_id
    )
