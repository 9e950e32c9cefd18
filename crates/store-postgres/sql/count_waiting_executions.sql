-- Counts the executions, at most $2, with a never-leased command in pool $1. Takes one index lookup
-- for each execution, independent of its number of commands.
--
-- `ready_commands.sql` walks over executions in the same way, from a given one on. A function for
-- both would hide the index lookups from the test of query plans, and SQLite has no functions.
WITH RECURSIVE waiting (priority, execution_id, place) AS (
    (
        SELECT priority, execution_id, 1::bigint
        FROM noetl.command
        WHERE status = 'ISSUED' AND pool = $1 AND $2 > 0
        ORDER BY pool, priority, execution_id, position
        LIMIT 1
    )
    UNION ALL
    SELECT following.priority, following.execution_id, waiting.place + 1
    FROM waiting
    CROSS JOIN LATERAL (
        SELECT command.priority, command.execution_id
        FROM noetl.command
        WHERE
            command.status = 'ISSUED'
            AND command.pool = $1
            AND (command.priority, command.execution_id)
                > (waiting.priority, waiting.execution_id)
        ORDER BY command.pool, command.priority, command.execution_id, command.position
        LIMIT 1
    ) AS following
    WHERE waiting.place < $2
)
SELECT count(*) AS count FROM waiting
