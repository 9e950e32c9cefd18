-- How many messages are owed.
SELECT count(*) FROM outbox
