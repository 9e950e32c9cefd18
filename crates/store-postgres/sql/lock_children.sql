-- Prevents others from starting children of the given commands until the end of the transaction.
SELECT pg_advisory_xact_lock(lock_key)
FROM (
    SELECT DISTINCT hashtextextended(parent.execution_id || ' ' || parent.command_id, 0) AS lock_key
    FROM unnest($1::bigint[], $2::bigint[]) AS parent (execution_id, command_id)
    ORDER BY lock_key
) AS lock_keys
