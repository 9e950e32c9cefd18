-- Selects the slots among ?1, a JSON array of [limit, execution id, command id], held or waiting.
SELECT slot.limit_name, slot.execution_id, slot.command_id
FROM json_each(?1) AS asked
CROSS JOIN slot
    ON
        slot.limit_name = asked.value ->> 0
        AND slot.execution_id = asked.value ->> 1
        AND slot.command_id = asked.value ->> 2
