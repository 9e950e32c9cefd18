-- A large value by its digest, whichever execution has stored it.
SELECT body FROM noetl.result_store WHERE sha256 = $1 LIMIT 1
