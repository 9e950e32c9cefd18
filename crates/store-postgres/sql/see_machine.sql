-- Records that the holder of a machine number is alive; changes nothing if another holder has it.
UPDATE noetl.machine SET seen_at = clock_timestamp() WHERE number = $1 AND holder = $2
