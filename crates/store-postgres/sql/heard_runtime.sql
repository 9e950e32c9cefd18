-- Notes that a runtime is there.
UPDATE noetl.runtime SET heartbeat = $3 WHERE kind = $1 AND name = $2
