-- Deletes slots and requests; ?1 is a JSON array of [limit, execution id, command id].
DELETE FROM slot
WHERE (limit_name, execution_id, command_id) IN (
    SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1)
)
