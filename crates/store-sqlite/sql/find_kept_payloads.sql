-- Selects the digests that have a payload.
SELECT payload.digest AS sha256
FROM json_each(?1) AS asked
INNER JOIN payload ON payload.digest = unhex(asked.value)
