-- Selects at most ?2 pools with a command that can be leased at ?1. Takes one index lookup for each
-- pool, independent of its number of commands; expired leases are few.
WITH RECURSIVE issued (pool) AS (
    SELECT min(pool) FROM command WHERE status = 'ISSUED'
    UNION ALL
    SELECT (SELECT min(pool) FROM command WHERE status = 'ISSUED' AND command.pool > issued.pool)
    FROM issued
    WHERE issued.pool IS NOT NULL
)
SELECT pool FROM issued WHERE pool IS NOT NULL
UNION
SELECT pool
FROM command INDEXED BY command_lease
WHERE status = 'CLAIMED' AND lease_until <= ?1
ORDER BY pool
LIMIT +?2
