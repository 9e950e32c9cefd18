-- Prevents others from registering versions at a path until the end of the transaction.
SELECT pg_advisory_xact_lock(hashtextextended($1, 0))
