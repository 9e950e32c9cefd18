-- How many executions, of at most ?2, have a command in pool ?1 that nobody has taken. One step of the
-- index for each execution, however many commands it has.
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
SELECT count(execution_id) FROM waiting WHERE place <= ?2
