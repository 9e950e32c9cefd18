-- Writes start keys ($1 to $5) over those that are no longer kept at $6; one that somebody has taken
-- meanwhile is left alone, and the count of rows tells.
INSERT INTO noetl.start_key (scope, name, execution_id, request, kept_until)
SELECT scope, name, execution_id, request, kept_until
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[], $5::timestamptz[])
    AS new (scope, name, execution_id, request, kept_until)
ON CONFLICT (scope, name) DO UPDATE SET
    execution_id = excluded.execution_id,
    request = excluded.request,
    kept_until = excluded.kept_until
WHERE start_key.kept_until <= $6
