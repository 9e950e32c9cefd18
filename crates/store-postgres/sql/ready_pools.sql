-- Selects at most $2 pools with a command that can be leased now ($1, or the database clock). Takes
-- one index lookup for each pool, independent of its number of commands; expired leases are few.
WITH RECURSIVE issued (pool) AS (
    (SELECT pool FROM noetl.command WHERE status = 'ISSUED' ORDER BY pool LIMIT 1)
    UNION ALL
    SELECT (
        SELECT command.pool
        FROM noetl.command
        WHERE command.status = 'ISSUED' AND command.pool > issued.pool
        ORDER BY command.pool
        LIMIT 1
    )
    FROM issued
    WHERE issued.pool IS NOT NULL
)
SELECT pool FROM issued WHERE pool IS NOT NULL
UNION
SELECT pool
FROM noetl.command
WHERE status = 'CLAIMED' AND lease_until <= coalesce($1, statement_timestamp())
ORDER BY pool
LIMIT $2
