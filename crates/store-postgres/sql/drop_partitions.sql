-- Drops the months that end at $1 or earlier and in which nothing runs any more.
SELECT noetl.drop_partitions($1)
