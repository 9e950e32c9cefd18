-- Selects the imported executions among $1.
SELECT found.body::text AS body
FROM unnest($1::bigint[]) AS wanted (execution_id)
CROSS JOIN LATERAL (
    -- The limit keeps the plan a lookup of one row.
    SELECT body FROM noetl.imported_execution WHERE execution_id = wanted.execution_id LIMIT 1
) AS found
