-- Counts the credentials under each key version.
SELECT key_version, count(*) AS rows
FROM noetl.credential
GROUP BY key_version
ORDER BY key_version
