-- Stores chunks of the output of tools.
INSERT INTO noetl.log_chunk (
    execution_id, position, command_id, attempt, stream, printed_at, omitted_lines, omitted_bytes,
    is_late, body
)
SELECT *
FROM unnest(
    $1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::timestamptz[],
    $7::bigint[], $8::bigint[], $9::bigint[], $10::text[]
)
