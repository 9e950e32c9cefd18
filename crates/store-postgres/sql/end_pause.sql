-- Deletes the pause of kind $1 that began at $3 if it is ending.
DELETE FROM noetl.pause
WHERE kind = $1 AND name = $2 AND since = $3 AND progress = 'resuming'
