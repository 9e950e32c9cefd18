-- Selects what decides whether an execution may be deleted.
SELECT
    status,
    seq,
    EXISTS (SELECT 1 FROM keep_mark WHERE keep_mark.execution_id = ?1) AS is_marked,
    EXISTS (SELECT 1 FROM command WHERE command.execution_id = ?1)
        OR EXISTS (SELECT 1 FROM timer WHERE timer.execution_id = ?1)
        OR EXISTS (SELECT 1 FROM outbox WHERE outbox.execution_id = ?1) AS has_open_work
FROM execution
WHERE execution_id = ?1
