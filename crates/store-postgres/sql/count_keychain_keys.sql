-- Counts the keychain entries under each key version.
SELECT key_version, count(*) AS rows
FROM noetl.keychain
GROUP BY key_version
ORDER BY key_version
