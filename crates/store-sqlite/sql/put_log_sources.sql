-- Stores the attempts that have printed something, with the number of their chunks and bytes; ?1 is a
-- JSON array of arrays of their columns.
INSERT INTO log_source (
    execution_id, command_id, attempt, step_name, label, item, number, chunks, bytes
)
SELECT
    value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
    value ->> 7, value ->> 8
FROM json_each(?1)
WHERE true
ON CONFLICT (execution_id, command_id, attempt)
DO UPDATE SET chunks = excluded.chunks, bytes = excluded.bytes
