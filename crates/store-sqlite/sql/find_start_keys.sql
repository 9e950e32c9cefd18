-- Selects the existing start keys of a batch; ?1 is a JSON array of [scope, name].
SELECT start_key.scope, start_key.name, start_key.execution_id, start_key.request,
    start_key.kept_until
FROM json_each(?1) AS wanted
CROSS JOIN start_key
    ON start_key.scope = wanted.value ->> 0
    AND start_key.name = wanted.value ->> 1
