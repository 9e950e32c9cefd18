-- How many rows are under each version of the key.
SELECT key_version, count(*) AS rows
FROM noetl.keychain
GROUP BY key_version
ORDER BY key_version
