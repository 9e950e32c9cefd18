-- Finds the bulk job that was created under key $1.
SELECT body::text AS body FROM noetl.bulk_job WHERE request_key = $1
