-- Waits at most two seconds for a lock: whoever comes after a waiting change of a table waits too.
SET LOCAL lock_timeout = '2s'
