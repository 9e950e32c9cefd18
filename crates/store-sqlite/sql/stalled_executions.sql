-- Selects at most ?2 running executions without open work whose last event is older than ?1.
SELECT execution_id, last_event_at
FROM execution
WHERE
    status = 'RUNNING'
    AND last_event_at < ?1
    AND NOT EXISTS (SELECT 1 FROM command WHERE command.execution_id = execution.execution_id)
    AND NOT EXISTS (SELECT 1 FROM timer WHERE timer.execution_id = execution.execution_id)
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.execution_id = execution.execution_id)
ORDER BY last_event_at, execution_id
LIMIT +?2
