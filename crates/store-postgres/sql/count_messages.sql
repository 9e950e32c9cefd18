-- How many messages are owed: those that nobody has taken, and those that are not taken for ever.
SELECT
    (SELECT count(*) FROM noetl.outbox WHERE taken_until IS NULL)
    + (SELECT count(*) FROM noetl.outbox WHERE taken_until < 'infinity')
