-- Stores chunks of the output of tools; ?1 is a JSON array of arrays of their columns.
INSERT INTO log_chunk (
    execution_id, position, command_id, attempt, stream, printed_at, omitted_lines, omitted_bytes,
    is_late, body
)
SELECT
    value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
    value ->> 7, value ->> 8, value ->> 9
FROM json_each(?1)
