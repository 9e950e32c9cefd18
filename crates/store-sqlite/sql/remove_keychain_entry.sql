-- Deletes a keychain entry.
DELETE FROM keychain WHERE cache_key = ?1
