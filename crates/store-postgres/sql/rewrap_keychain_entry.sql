-- Wraps a record's own key anew, unless it has changed.
UPDATE noetl.keychain
SET wrapped_key = $3, key_version = $4
WHERE cache_key = $1 AND wrapped_key = $2
