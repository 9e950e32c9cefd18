-- Creates the missing partitions around $1 (NULL for now) and for the next $2 months.
SELECT noetl.make_partitions(coalesce($1, now()), $2)
