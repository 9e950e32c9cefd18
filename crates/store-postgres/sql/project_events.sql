-- Stores projected events, skipping known ids, and returns the ids of the new ones.
INSERT INTO noetl.projected_event (event_id, execution_id, created_at, envelope)
SELECT event_id, execution_id, created_at, envelope::json
FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::text[])
    AS new (event_id, execution_id, created_at, envelope)
ON CONFLICT DO NOTHING
RETURNING event_id
