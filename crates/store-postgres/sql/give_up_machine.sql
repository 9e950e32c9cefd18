-- Releases a machine number, so that others can claim it at once.
DELETE FROM noetl.machine WHERE number = $1 AND holder = $2
