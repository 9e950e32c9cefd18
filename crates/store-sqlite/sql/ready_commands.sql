-- Selects at most ?3 commands of pool ?1 that can be leased at ?2, of the highest priority below ?5
-- that has any, in rounds: one of every execution, then a second of every execution, and so on. A
-- round visits executions by id, from the first after ?4, and wraps around; within an execution,
-- commands with expired leases come first. `is_last` is true if no lower priority has a command.
-- Takes one index lookup for each execution and each command, independent of the number of waiting
-- commands.
WITH RECURSIVE
level (priority) AS (
    SELECT max(
        coalesce(
            (
                SELECT max(priority)
                FROM command INDEXED BY command_issued
                WHERE status = 'ISSUED' AND pool = ?1 AND priority < ?5
            ),
            -1
        ),
        coalesce(
            (
                SELECT max(priority)
                FROM command INDEXED BY command_lease
                WHERE
                    status = 'CLAIMED' AND pool = ?1 AND lease_until <= ?2 AND priority < ?5
            ),
            -1
        )
    )
),
ahead (execution_id, place) AS (
    SELECT min(execution_id), 1
    FROM command
    WHERE
        status = 'ISSUED'
        AND pool = ?1
        AND priority = (SELECT priority FROM level)
        AND execution_id > ?4
    UNION ALL
    SELECT
        (
            SELECT min(command.execution_id)
            FROM command
            WHERE
                status = 'ISSUED'
                AND pool = ?1
                AND priority = (SELECT priority FROM level)
                AND command.execution_id > ahead.execution_id
        ),
        place + 1
    FROM ahead
    WHERE execution_id IS NOT NULL AND place < ?3
),
behind (execution_id, place) AS (
    SELECT min(execution_id), 1
    FROM command
    WHERE
        status = 'ISSUED'
        AND pool = ?1
        AND priority = (SELECT priority FROM level)
        AND execution_id <= ?4
    UNION ALL
    SELECT
        (
            SELECT min(command.execution_id)
            FROM command
            WHERE
                status = 'ISSUED'
                AND pool = ?1
                AND priority = (SELECT priority FROM level)
                AND command.execution_id > behind.execution_id
                AND command.execution_id <= ?4
        ),
        place + 1
    FROM behind
    WHERE execution_id IS NOT NULL AND place < ?3
),
fresh (round, is_behind, execution_id, position) AS (
    SELECT 1, is_behind, chosen.execution_id, (
        SELECT min(position)
        FROM command
        WHERE
            status = 'ISSUED'
            AND pool = ?1
            AND priority = (SELECT priority FROM level)
            AND command.execution_id = chosen.execution_id
    )
    FROM (
        SELECT 0 AS is_behind, execution_id FROM ahead WHERE execution_id IS NOT NULL
        UNION ALL
        SELECT 1, execution_id FROM behind WHERE execution_id IS NOT NULL
    ) AS chosen
    UNION ALL
    SELECT fresh.round + 1, fresh.is_behind, fresh.execution_id, following.position
    FROM fresh
    CROSS JOIN command AS following
        ON following.position = (
            SELECT min(command.position)
            FROM command
            WHERE
                status = 'ISSUED'
                AND pool = ?1
                AND command.priority = (SELECT priority FROM level)
                AND command.execution_id = fresh.execution_id
                AND command.position > fresh.position
        )
    ORDER BY 1, 2, 3
    LIMIT +?3
),
lost (execution_id, command_id, attempt, lease_until, position) AS (
    SELECT execution_id, command_id, attempt, lease_until, position
    FROM command
    WHERE
        status = 'CLAIMED'
        AND pool = ?1
        AND lease_until <= ?2
        AND priority = (SELECT priority FROM level)
    ORDER BY lease_until, position
    LIMIT +?3
)
SELECT
    execution_id,
    command_id,
    attempt,
    round,
    (SELECT priority FROM level) AS priority,
    NOT EXISTS (
        SELECT 1
        FROM command INDEXED BY command_issued
        WHERE status = 'ISSUED' AND pool = ?1 AND priority < (SELECT priority FROM level)
    )
    AND NOT EXISTS (
        SELECT 1
        FROM command INDEXED BY command_lease
        WHERE
            status = 'CLAIMED' AND pool = ?1 AND lease_until <= ?2 AND priority < (SELECT priority FROM level)
    ) AS is_last
FROM (
    SELECT
        ready.*,
        row_number() OVER (
            PARTITION BY execution_id ORDER BY is_fresh, lease_until, position
        ) AS round
    FROM (
        SELECT 0 AS is_fresh, lost.* FROM lost
        UNION ALL
        SELECT
            1, command.execution_id, command.command_id, command.attempt, NULL, command.position
        FROM fresh CROSS JOIN command ON command.position = fresh.position
    ) AS ready
)
ORDER BY round, execution_id <= ?4, execution_id
LIMIT +?3
