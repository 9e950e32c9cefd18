-- Prevents others from deleting the executions $1 until the end of the transaction.
SELECT pg_advisory_xact_lock_shared(lock_key)
FROM (
    SELECT DISTINCT hashtextextended('fork of ' || origin.execution_id, 0) AS lock_key
    FROM unnest($1::bigint[]) AS origin (execution_id)
    ORDER BY lock_key
) AS lock_keys
