-- Deletes a keychain entry.
DELETE FROM noetl.keychain WHERE cache_key = $1
