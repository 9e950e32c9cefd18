-- How many messages are owed.
SELECT count(*) FROM outbox WHERE dead_at IS NULL
