-- Notes that a runtime is there.
UPDATE runtime SET heartbeat = ?3 WHERE kind = ?1 AND name = ?2
