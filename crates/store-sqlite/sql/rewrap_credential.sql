-- Stores a rewrapped data key, unless the row has changed.
UPDATE credential
SET wrapped_key = ?3, key_version = ?4
WHERE name = ?1 AND wrapped_key = ?2
