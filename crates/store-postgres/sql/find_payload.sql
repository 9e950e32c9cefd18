-- Selects a payload by its digest, of any execution.
SELECT body FROM noetl.result_store WHERE sha256 = $1 LIMIT 1
