-- Records a heartbeat of a runtime.
UPDATE runtime SET heartbeat = ?3 WHERE kind = ?1 AND name = ?2
