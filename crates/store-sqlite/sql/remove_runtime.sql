-- Deletes a runtime.
DELETE FROM runtime WHERE kind = ?1 AND name = ?2
