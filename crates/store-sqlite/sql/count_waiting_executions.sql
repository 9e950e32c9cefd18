-- Counts the executions, at most ?2, with a never-leased command in pool ?1. Takes one index lookup
-- for each execution, independent of its number of commands.
--
-- `ready_commands.sql` walks over executions in the same way, from a given one on. SQLite has no
-- functions or views with arguments, so the walk cannot be shared.
WITH RECURSIVE
-- SQLite compares rows by an index only with a constant prefix, so each priority is walked by itself.
level (priority) AS (
    VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)
),
waiting (priority, execution_id, place) AS (
    SELECT
        level.priority,
        (
            SELECT min(execution_id)
            FROM command
            WHERE status = 'ISSUED' AND pool = ?1 AND command.priority = level.priority
        ),
        1
    FROM level
    UNION ALL
    SELECT
        priority,
        (
            SELECT min(command.execution_id)
            FROM command
            WHERE
                status = 'ISSUED'
                AND pool = ?1
                AND command.priority = waiting.priority
                AND command.execution_id > waiting.execution_id
        ),
        place + 1
    FROM waiting
    WHERE execution_id IS NOT NULL AND place < ?2
)
SELECT min(count(execution_id), ?2) AS count FROM waiting WHERE place <= ?2
