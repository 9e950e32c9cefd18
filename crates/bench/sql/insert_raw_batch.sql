-- Many rows without meaning.
INSERT INTO public.raw_event (execution_id, seq, event_id, created_at, body)
SELECT execution_id, seq, event_id, created_at, body
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])
    AS new (execution_id, seq, event_id, created_at, body)
