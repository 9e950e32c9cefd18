-- Drops the monthly partitions that end at $1 or earlier and have no running execution.
SELECT noetl.drop_partitions($1)
