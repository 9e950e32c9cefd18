-- Locks a machine number until the end of the session, unless another session has the lock.
SELECT pg_try_advisory_lock($1, $2)
