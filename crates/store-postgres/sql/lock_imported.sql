-- Prevents others from changing the imported executions $1 until the end of the transaction. Locks
-- are taken in the order of the array.
SELECT pg_advisory_xact_lock(hashtextextended('imported', execution_id))
FROM unnest($1::bigint[]) AS wanted (execution_id)
