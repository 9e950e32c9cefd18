-- Stores the attempts that have printed something, with the number of their chunks and bytes.
INSERT INTO noetl.log_source (
    execution_id, command_id, attempt, step_name, label, item, number, chunks, bytes
)
SELECT *
FROM unnest(
    $1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
    $8::bigint[], $9::bigint[]
)
ON CONFLICT (execution_id, command_id, attempt)
DO UPDATE SET chunks = excluded.chunks, bytes = excluded.bytes
