-- Deletes index entries; ?1 is a JSON array of [kind, key, execution id, command id].
DELETE FROM execution_index
WHERE (kind, key, execution_id, command_id) IN (
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?1)
)
