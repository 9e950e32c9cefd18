-- At most $3 commands of pool $1 that can be leased now ($2, or this server's own), longest-waiting
-- first: those nobody has taken wait since they were added, those whose worker is lost since the
-- lease ran out.
SELECT execution_id, command_id, attempt, waiting_since
FROM (
    (
        SELECT execution_id, command_id, attempt, created_at AS waiting_since, position
        FROM noetl.command
        WHERE status = 'ISSUED' AND pool = $1
        ORDER BY created_at, position
        LIMIT $3
    )
    UNION ALL
    (
        SELECT execution_id, command_id, attempt, lease_until AS waiting_since, position
        FROM noetl.command
        WHERE
            status = 'CLAIMED'
            AND pool = $1
            AND lease_until <= coalesce($2, statement_timestamp())
        ORDER BY lease_until, position
        LIMIT $3
    )
) AS ready
ORDER BY waiting_since, position
LIMIT $3
