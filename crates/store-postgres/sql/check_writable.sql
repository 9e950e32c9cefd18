-- Writes $1 bytes to new files.
SELECT noetl.check_writable($1)
