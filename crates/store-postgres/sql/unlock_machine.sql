-- Releases the lock on a machine number.
SELECT pg_advisory_unlock($1, $2)
