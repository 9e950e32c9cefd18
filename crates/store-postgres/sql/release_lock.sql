DELETE FROM noetl.turn WHERE name = $1 AND holder = $2
