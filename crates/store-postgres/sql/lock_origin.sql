-- Prevents others from starting forks of the execution $1 in other shards until the end of the
-- transaction; waits for those that are being started.
SELECT pg_advisory_xact_lock(hashtextextended('fork of ' || $1::bigint, 0))
