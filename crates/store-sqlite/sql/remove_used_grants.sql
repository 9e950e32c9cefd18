-- Deletes grants of rates, which nobody holds; ?1 is a JSON array of [limit, execution id, command id].
DELETE FROM slot
WHERE (limit_name, execution_id, command_id) IN (
    SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1)
)
AND granted_at IS NOT NULL
AND (SELECT is_rate FROM slot_limit WHERE slot_limit.limit_name = slot.limit_name)
