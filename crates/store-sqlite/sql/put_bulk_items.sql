-- Stores the results of executions of bulk job ?1, skipping those that have one; ?2 is a JSON array of
-- [execution, outcome, started execution, message].
INSERT INTO bulk_item (job_id, execution_id, outcome, started_execution_id, message)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3
FROM json_each(?2)
WHERE true
ON CONFLICT DO NOTHING
RETURNING execution_id
