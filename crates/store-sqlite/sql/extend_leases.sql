-- Extends leases until ?2; ?1 is a JSON array of [execution id, command id].
UPDATE command
SET lease_until = ?2
WHERE position IN (
    SELECT command.position
    FROM json_each(?1) AS held
    CROSS JOIN command
        ON command.execution_id = held.value ->> 0
        AND command.command_id = held.value ->> 1
)
