-- Counts the commands of pool ?1 that can be leased at ?2.
SELECT
    (SELECT count(*) FROM command WHERE status = 'ISSUED' AND pool = ?1)
    + (
        SELECT count(*) FROM command
        WHERE status = 'CLAIMED' AND pool = ?1 AND lease_until <= ?2
    ) AS count
