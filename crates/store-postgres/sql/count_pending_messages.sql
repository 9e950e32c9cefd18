-- How many messages may be taken now ($1, or this server's own).
SELECT
    (SELECT count(*) FROM noetl.outbox WHERE taken_until IS NULL)
    + (
        SELECT count(*) FROM noetl.outbox
        WHERE taken_until <= coalesce($1, statement_timestamp())
    )
