-- The holder of a machine number is heard of; nothing happens if the number is another's.
UPDATE noetl.machine SET seen_at = clock_timestamp() WHERE number = $1 AND holder = $2
