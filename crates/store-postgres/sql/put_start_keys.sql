-- Writes start keys ($1 to $5), replacing keys that have expired at $6. A key that another writer
-- has taken is left unchanged and missing from the row count.
INSERT INTO noetl.start_key (scope, name, execution_id, request, kept_until)
SELECT scope, name, execution_id, request, kept_until
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[], $5::timestamptz[])
    AS new (scope, name, execution_id, request, kept_until)
ON CONFLICT (scope, name) DO UPDATE SET
    execution_id = excluded.execution_id,
    request = excluded.request,
    kept_until = excluded.kept_until
WHERE start_key.kept_until <= $6
