-- Where the logs of some executions end; ?1 is a JSON array of their ids.
SELECT execution_id, seq, last_event_at, head_digest
FROM execution
WHERE execution_id IN (SELECT value FROM json_each(?1))
