-- Reads chunks like read_logs.sql, newest first.
SELECT
    chunk.position,
    chunk.command_id,
    chunk.attempt,
    source.step_name,
    source.label,
    source.item,
    source.number,
    chunk.stream,
    chunk.printed_at,
    chunk.omitted_lines,
    chunk.omitted_bytes,
    chunk.is_late,
    chunk.body
FROM noetl.log_chunk AS chunk
JOIN noetl.log_source AS source
    ON source.execution_id = chunk.execution_id
    AND source.command_id = chunk.command_id
    AND source.attempt = chunk.attempt
WHERE
    chunk.execution_id = $1
    AND chunk.position > $2
    AND chunk.position < $3
    AND ($4::timestamptz IS NULL OR chunk.printed_at <= $4)
    AND ($5::text IS NULL OR source.step_name = $5)
    AND ($6::bigint IS NULL OR chunk.command_id = $6)
    AND ($7::bigint IS NULL OR source.number = $7)
    AND ($8::text IS NULL OR chunk.stream = $8)
ORDER BY chunk.position DESC
LIMIT $9
