-- Finds the bulk job that was created under key ?1.
SELECT body FROM bulk_job WHERE request_key = ?1
