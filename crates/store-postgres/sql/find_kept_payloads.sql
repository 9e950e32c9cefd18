-- Selects the digests that have a payload, of any execution.
SELECT asked.sha256
FROM unnest($1::bytea[]) AS asked (sha256)
WHERE EXISTS (SELECT FROM noetl.result_store AS store WHERE store.sha256 = asked.sha256)
