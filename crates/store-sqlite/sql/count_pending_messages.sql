-- Counts the messages that can be taken at ?1.
SELECT
    (SELECT count(*) FROM outbox WHERE taken_until IS NULL)
    + (SELECT count(*) FROM outbox WHERE taken_until IS NOT NULL AND taken_until <= ?1) AS count
