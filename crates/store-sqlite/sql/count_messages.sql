-- Counts the pending messages, without dead ones.
SELECT count(*) AS count FROM outbox WHERE dead_at IS NULL
