-- Deletes a runtime.
DELETE FROM noetl.runtime WHERE kind = $1 AND name = $2
