-- Deletes ended commands; ?1 is a JSON array of [execution id, command id].
DELETE FROM command
WHERE position IN (
    SELECT command.position
    FROM json_each(?1) AS ended
    CROSS JOIN command
        ON command.execution_id = ended.value ->> 0
        AND command.command_id = ended.value ->> 1
)
