-- Counts the executions, at most ?2, with a never-leased command in pool ?1. Takes one index lookup
-- for each execution, independent of its number of commands.
--
-- `ready_commands.sql` walks over executions in the same way, from a given one on. SQLite has no
-- functions or views with arguments, so the walk cannot be shared.
WITH RECURSIVE waiting (execution_id, place) AS (
    SELECT min(execution_id), 1 FROM command WHERE status = 'ISSUED' AND pool = ?1
    UNION ALL
    SELECT
        (
            SELECT min(command.execution_id)
            FROM command
            WHERE status = 'ISSUED' AND pool = ?1 AND command.execution_id > waiting.execution_id
        ),
        place + 1
    FROM waiting
    WHERE execution_id IS NOT NULL AND place < ?2
)
SELECT count(execution_id) AS count FROM waiting WHERE place <= ?2
