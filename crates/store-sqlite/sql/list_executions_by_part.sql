-- Lists at most ?3 executions older than ?1 whose folded path contains ?2, with one of the statuses
-- in the JSON array ?4, newest first. Distinct paths are found with a loose index scan. The page
-- comes from at most ?3 pairs of path and status, the pairs with the newest executions, so that no
-- step depends on the number of executions.
WITH RECURSIVE known (path) AS (
    SELECT min(path_folded) FROM execution
    UNION ALL
    SELECT (SELECT min(path_folded) FROM execution WHERE path_folded > known.path)
    FROM known
    WHERE known.path IS NOT NULL
),
newest (path, status, execution_id) AS (
    SELECT
        known.path,
        wanted.value,
        (
            SELECT max(execution_id)
            FROM execution
            WHERE path_folded = known.path AND status = wanted.value AND execution_id < ?1
        )
    FROM known CROSS JOIN json_each(?4) AS wanted
    WHERE instr(known.path, ?2) > 0
),
leading (path, status) AS (
    SELECT path, status
    FROM newest
    WHERE execution_id IS NOT NULL
    ORDER BY execution_id DESC
    LIMIT +?3
)
SELECT
    execution_id, catalog_id, path, version, status, seq, started_at, ended_at, parent_execution_id,
    parent_command_id, current_step, steps_total, steps_running, steps_completed, steps_failed,
    items_total, items_completed, items_failed, error,
    head_digest, fork_execution_id, fork_seq, labels, actor
FROM execution
WHERE execution_id IN (
    SELECT found.execution_id
    FROM leading
    JOIN execution AS found ON found.execution_id IN (
        SELECT one.execution_id
        FROM execution AS one
        WHERE
            one.path_folded = leading.path
            AND one.status = leading.status
            AND one.execution_id < ?1
        ORDER BY one.execution_id DESC
        LIMIT +?3
    )
    ORDER BY found.execution_id DESC
    LIMIT +?3
)
ORDER BY execution_id DESC
