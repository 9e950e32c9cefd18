DELETE FROM noetl.feed WHERE name = $1
