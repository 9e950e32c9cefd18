-- How many messages are owed.
SELECT count(*) FROM noetl.outbox
