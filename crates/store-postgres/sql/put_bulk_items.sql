-- Stores the results of executions of bulk job $1, skipping those that have one.
INSERT INTO noetl.bulk_item (job_id, execution_id, outcome, started_execution_id, message)
SELECT $1, execution_id, outcome, started_execution_id, message
FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::text[])
    AS new (execution_id, outcome, started_execution_id, message)
ON CONFLICT DO NOTHING
RETURNING execution_id
