-- Selects what decides whether the execution $1, which is locked, may be deleted.
SELECT
    status,
    seq,
    EXISTS (SELECT FROM noetl.keep_mark WHERE keep_mark.execution_id = $1) AS is_marked,
    EXISTS (SELECT FROM noetl.command WHERE command.execution_id = $1)
        OR EXISTS (SELECT FROM noetl.timer WHERE timer.execution_id = $1)
        OR EXISTS (SELECT FROM noetl.outbox WHERE outbox.execution_id = $1) AS has_open_work
FROM noetl.execution
WHERE execution_id = $1
