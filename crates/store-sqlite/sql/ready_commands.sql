-- At most ?3 commands of pool ?1 that can be leased at ?2, longest-waiting first: those nobody has
-- taken wait since they were added, those whose worker is lost since the lease ran out.
SELECT execution_id, command_id, attempt
FROM (
    SELECT * FROM (
        SELECT execution_id, command_id, attempt, created_at AS waiting_since, position
        FROM command
        WHERE status = 'ISSUED' AND pool = ?1
        ORDER BY created_at, position
        LIMIT +?3
    )
    UNION ALL
    SELECT * FROM (
        SELECT execution_id, command_id, attempt, lease_until AS waiting_since, position
        FROM command
        WHERE status = 'CLAIMED' AND pool = ?1 AND lease_until <= ?2
        ORDER BY lease_until, position
        LIMIT +?3
    )
)
ORDER BY waiting_since, position
LIMIT +?3
