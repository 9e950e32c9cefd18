-- A machine number is free for others at once.
DELETE FROM noetl.machine WHERE number = $1 AND holder = $2
