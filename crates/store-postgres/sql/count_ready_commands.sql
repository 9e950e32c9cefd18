-- How many commands of pool $1 can be leased now ($2, or this server's own).
SELECT
    (SELECT count(*) FROM noetl.command WHERE status = 'ISSUED' AND pool = $1)
    + (
        SELECT count(*) FROM noetl.command
        WHERE
            status = 'CLAIMED'
            AND pool = $1
            AND lease_until <= coalesce($2, statement_timestamp())
    )
