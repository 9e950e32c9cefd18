-- Inserts many dummy rows.
INSERT INTO public.raw_event (
    execution_id, seq, event_id, event_type, node_name, created_at, body, prev_digest
)
SELECT execution_id, seq, event_id, event_type, node_name, created_at, body, prev_digest
FROM unnest(
    $1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::text[],
    $8::bytea[]
) AS new (execution_id, seq, event_id, event_type, node_name, created_at, body, prev_digest)
