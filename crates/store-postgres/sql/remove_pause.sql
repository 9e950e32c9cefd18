-- Deletes the pause of kind $1.
DELETE FROM noetl.pause WHERE kind = $1 AND name = $2
