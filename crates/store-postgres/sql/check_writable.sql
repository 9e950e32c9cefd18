-- Writes $1 bytes to new files, to check that the disk is writable.
SELECT noetl.check_writable($1::bigint::integer)
