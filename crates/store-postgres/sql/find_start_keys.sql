-- Selects the existing start keys among the scopes $1 and names $2.
SELECT start_key.scope, start_key.name, start_key.execution_id, start_key.request,
    start_key.kept_until
FROM unnest($1::text[], $2::text[]) AS wanted (scope, name)
JOIN noetl.start_key
    ON start_key.scope = wanted.scope AND start_key.name = wanted.name
