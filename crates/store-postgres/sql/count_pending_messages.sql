-- Counts the messages that can be taken now ($1, or the database clock).
SELECT
    (SELECT count(*) FROM noetl.outbox WHERE taken_until IS NULL)
    + (
        SELECT count(*) FROM noetl.outbox
        WHERE taken_until <= coalesce($1, statement_timestamp())
    ) AS count
