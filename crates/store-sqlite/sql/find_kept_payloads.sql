-- Which of some large values are kept.
SELECT payload.digest AS sha256
FROM json_each(?1) AS asked
INNER JOIN payload ON payload.digest = unhex(asked.value)
