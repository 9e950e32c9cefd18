-- Counts the commands of pool $1 that can be leased now ($2, or the database clock).
SELECT
    (SELECT count(*) FROM noetl.command WHERE status = 'ISSUED' AND pool = $1)
    + (
        SELECT count(*) FROM noetl.command
        WHERE
            status = 'CLAIMED'
            AND pool = $1
            AND lease_until <= coalesce($2, statement_timestamp())
    ) AS count
