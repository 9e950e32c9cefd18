-- Selects the ends of executions' logs; ?1 is a JSON array of ids.
SELECT execution_id, seq, last_event_at, head_digest
FROM execution
WHERE execution_id IN (SELECT value FROM json_each(?1))
