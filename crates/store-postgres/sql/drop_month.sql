-- Drops the oldest month that ended at $1 or earlier and has nothing that is kept, and returns it.
SELECT noetl.drop_month($1)
