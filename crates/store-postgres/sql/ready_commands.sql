-- Selects at most $3 commands of pool $1 that can be leased now ($2, or the database clock), of the
-- highest priority below $5 that has any, in rounds: one of every execution, then a second of every
-- execution, and so on. A round visits executions by id, from the first after $4, and wraps around;
-- within an execution, commands with expired leases come first. `is_last` is true if no lower
-- priority has a command. Takes one index lookup for each execution and each command, independent of
-- the number of waiting commands.
WITH RECURSIVE level (priority) AS (
    SELECT greatest(
        (
            SELECT priority
            FROM noetl.command
            WHERE status = 'ISSUED' AND pool = $1 AND priority < $5
            ORDER BY pool DESC, priority DESC
            LIMIT 1
        ),
        (
            SELECT max(priority)
            FROM noetl.command
            WHERE
                status = 'CLAIMED'
                AND pool = $1
                AND lease_until <= coalesce($2, statement_timestamp())
                AND priority < $5
        )
    )
),
ahead (execution_id, place) AS (
    (
        SELECT execution_id, 1
        FROM noetl.command
        WHERE
            status = 'ISSUED'
            AND pool = $1
            AND priority = (SELECT priority FROM level)
            AND execution_id > $4
        ORDER BY pool, priority, execution_id, position
        LIMIT 1
    )
    UNION ALL
    SELECT following.execution_id, ahead.place + 1
    FROM ahead
    CROSS JOIN LATERAL (
        SELECT command.execution_id
        FROM noetl.command
        WHERE
            command.status = 'ISSUED'
            AND command.pool = $1
            AND command.priority = (SELECT priority FROM level)
            AND command.execution_id > ahead.execution_id
        ORDER BY command.pool, command.priority, command.execution_id, command.position
        LIMIT 1
    ) AS following
    WHERE ahead.place < $3
),
behind (execution_id, place) AS (
    (
        SELECT execution_id, 1
        FROM noetl.command
        WHERE
            status = 'ISSUED'
            AND pool = $1
            AND priority = (SELECT priority FROM level)
            AND execution_id <= $4
        ORDER BY pool, priority, execution_id, position
        LIMIT 1
    )
    UNION ALL
    SELECT following.execution_id, behind.place + 1
    FROM behind
    CROSS JOIN LATERAL (
        SELECT command.execution_id
        FROM noetl.command
        WHERE
            command.status = 'ISSUED'
            AND command.pool = $1
            AND command.priority = (SELECT priority FROM level)
            AND command.execution_id > behind.execution_id
            AND command.execution_id <= $4
        ORDER BY command.pool, command.priority, command.execution_id, command.position
        LIMIT 1
    ) AS following
    WHERE behind.place < $3
),
-- The recursion produces one round at a time and stops at the limit of `fresh`.
rounds (execution_id, command_id, attempt, position) AS (
    (
        SELECT chosen.execution_id, earliest.command_id, earliest.attempt, earliest.position
        FROM (
            SELECT execution_id FROM ahead
            UNION ALL
            SELECT execution_id FROM behind
            LIMIT $3
        ) AS chosen
        CROSS JOIN LATERAL (
            SELECT command.command_id, command.attempt, command.position
            FROM noetl.command
            WHERE
                command.status = 'ISSUED'
                AND command.pool = $1
                AND command.priority = (SELECT priority FROM level)
                AND command.execution_id = chosen.execution_id
            ORDER BY command.pool, command.priority, command.execution_id, command.position
            LIMIT 1
        ) AS earliest
    )
    UNION ALL
    SELECT rounds.execution_id, following.command_id, following.attempt, following.position
    FROM rounds
    CROSS JOIN LATERAL (
        SELECT command.command_id, command.attempt, command.position
        FROM noetl.command
        WHERE
            command.status = 'ISSUED'
            AND command.pool = $1
            AND command.priority = (SELECT priority FROM level)
            AND command.execution_id = rounds.execution_id
            AND command.position > rounds.position
        ORDER BY command.pool, command.priority, command.execution_id, command.position
        LIMIT 1
    ) AS following
),
fresh AS (
    SELECT execution_id, command_id, attempt, position FROM rounds LIMIT $3
),
lost AS (
    SELECT execution_id, command_id, attempt, lease_until, position
    FROM noetl.command
    WHERE
        status = 'CLAIMED'
        AND pool = $1
        AND lease_until <= coalesce($2, statement_timestamp())
        AND priority = (SELECT priority FROM level)
    ORDER BY lease_until, position
    LIMIT $3
)
SELECT
    execution_id,
    command_id,
    attempt,
    round,
    (SELECT priority FROM level) AS priority,
    -- In the order of the index, so that its first row answers.
    (
        SELECT priority
        FROM noetl.command
        WHERE
            status = 'ISSUED'
            AND pool = $1
            AND priority < (SELECT priority FROM level)
        ORDER BY pool DESC, priority DESC
        LIMIT 1
    ) IS NULL
    AND NOT EXISTS (
        SELECT 1
        FROM noetl.command
        WHERE
            status = 'CLAIMED'
            AND pool = $1
            AND lease_until <= coalesce($2, statement_timestamp())
            AND priority < (SELECT priority FROM level)
    ) AS is_last
FROM (
    SELECT
        ready.execution_id,
        ready.command_id,
        ready.attempt,
        row_number() OVER (
            PARTITION BY ready.execution_id
            ORDER BY ready.is_fresh, ready.lease_until, ready.position
        ) AS round
    FROM (
        SELECT false AS is_fresh, execution_id, command_id, attempt, lease_until, position
        FROM lost
        UNION ALL
        SELECT true, execution_id, command_id, attempt, NULL, position
        FROM fresh
    ) AS ready
) AS in_rounds
ORDER BY round, execution_id <= $4, execution_id
LIMIT $3
