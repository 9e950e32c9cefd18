-- Claims a machine number until the end of the session, unless another session has it.
SELECT pg_try_advisory_lock($1, $2)
