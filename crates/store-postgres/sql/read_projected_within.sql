-- Selects at most $6 projected events of execution $1 after time $2 and id $3, up to time $4 and
-- id $5, ordered by time and id.
SELECT envelope::text AS envelope
FROM noetl.projected_event
WHERE
    execution_id = $1
    AND (created_at, event_id) > ($2::timestamptz, $3::bigint)
    AND (created_at, event_id) <= ($4::timestamptz, $5::bigint)
ORDER BY created_at, event_id
LIMIT $6
