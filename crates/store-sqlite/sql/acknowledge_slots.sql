-- Records that holders know of their grants; ?1 is a JSON array of [limit, execution id, command id].
UPDATE slot
SET is_answered = 1
WHERE (limit_name, execution_id, command_id) IN (
    SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1)
)
