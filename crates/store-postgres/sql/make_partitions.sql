-- Makes the partitions that are missing around $1 (now if none), for $2 months to come.
SELECT noetl.make_partitions(coalesce($1, now()), $2)
