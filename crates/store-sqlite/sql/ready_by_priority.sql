-- Counts the commands of pool ?1 that can be leased at ?2, by priority, each with the time since which
-- the oldest never-leased one waits.
SELECT priority, count(*) AS count, min(created_at) AS created_at
FROM (
    SELECT priority, created_at FROM command WHERE status = 'ISSUED' AND pool = ?1
    UNION ALL
    SELECT priority, NULL FROM command
    WHERE status = 'CLAIMED' AND pool = ?1 AND lease_until <= ?2
)
GROUP BY priority
ORDER BY priority
