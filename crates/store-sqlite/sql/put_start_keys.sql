-- Writes start keys, replacing expired ones; ?1 is a JSON array of rows.
INSERT INTO start_key (scope, name, execution_id, request, kept_until)
SELECT
    value ->> 'scope',
    value ->> 'name',
    value ->> 'execution_id',
    unhex(value ->> 'request'),
    value ->> 'kept_until'
FROM json_each(?1)
WHERE true
ON CONFLICT (scope, name) DO UPDATE SET
    execution_id = excluded.execution_id,
    request = excluded.request,
    kept_until = excluded.kept_until
