-- Counts the pending messages: never taken, or taken until a finite time. Dead messages are taken
-- until infinity.
SELECT
    (SELECT count(*) FROM noetl.outbox WHERE taken_until IS NULL)
    + (SELECT count(*) FROM noetl.outbox WHERE taken_until < 'infinity') AS count
