-- Lists executions like list_executions_by_parent.sql, of any parent (NULL for any), that have each of
-- the words in the JSON array ?10: in the folded path, or as an index entry of kind `word`. Executions
-- with all words in the path are found with a loose index scan of paths; without other conditions, only
-- the pairs of path and status with the newest executions are read. The others have an entry of one of
-- the words, which leads the search. A word that is in no path leads alone, because every match has its
-- entry: of several such words, the one with the fewest entries, which are counted up to a limit.
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
    WHERE
        known.path IS NOT NULL
        AND (?2 IS NULL OR instr(known.path, ?2) > 0)
        AND NOT EXISTS (
            SELECT 1 FROM json_each(?10) AS word WHERE instr(known.path, word.value) = 0
        )
),
leading (path, status) AS (
    SELECT path, status
    FROM newest
    WHERE execution_id IS NOT NULL
    ORDER BY execution_id DESC
    LIMIT iif(coalesce(?5, ?6, ?7, ?8, ?9) IS NULL, ?3, -1)
),
sole (word) AS (
    SELECT word.value
    FROM json_each(?10) AS word
    WHERE NOT EXISTS (SELECT 1 FROM known WHERE instr(known.path, word.value) > 0)
    ORDER BY
        (
            SELECT count(*)
            FROM (
                SELECT 1
                FROM json_each(?4) AS wanted
                CROSS JOIN execution_index AS entry
                WHERE entry.kind = 'word' AND entry.key = word.value || ' ' || wanted.value
                LIMIT 1000
            )
        ),
        length(word.value) DESC
    LIMIT 1
),
lead (word) AS (
    SELECT word FROM sole
    UNION ALL
    SELECT word.value FROM json_each(?10) AS word WHERE NOT EXISTS (SELECT 1 FROM sole)
)
SELECT
    execution_id, catalog_id, path, version, status, seq, started_at, ended_at, parent_execution_id,
    parent_command_id, current_step, steps_total, steps_running, steps_completed, steps_failed,
    items_total, items_completed, items_failed, error,
    head_digest, fork_execution_id, fork_seq, labels, actor
FROM execution
WHERE execution_id IN (
    SELECT execution_id
    FROM (
        SELECT found.execution_id
        FROM leading
        JOIN execution AS found ON found.execution_id IN (
            SELECT one.execution_id
            FROM execution AS one
            WHERE
                one.path_folded = leading.path
                AND one.status = leading.status
                AND one.execution_id < ?1
                AND (?5 IS NULL OR one.path = ?5)
                AND (?6 IS NULL OR one.catalog_id = ?6)
                AND (?7 IS NULL OR one.parent_execution_id = ?7)
                AND NOT EXISTS (
                    SELECT 1
                    FROM json_each(coalesce(?8, '{}')) AS label
                    WHERE NOT EXISTS (
                        SELECT 1
                        FROM json_each(coalesce(one.labels, '{}')) AS had
                        WHERE had.key = label.key AND had.value = label.value
                    )
                )
                AND (?9 IS NULL OR one.actor = ?9)
            ORDER BY one.execution_id DESC
            LIMIT +?3
        )
        UNION
        SELECT found.execution_id
        FROM lead
        CROSS JOIN json_each(?4) AS wanted
        JOIN execution AS found ON found.execution_id IN (
            SELECT entry.execution_id
            FROM execution_index AS entry
            CROSS JOIN execution AS one ON one.execution_id = entry.execution_id
            WHERE
                entry.kind = 'word'
                AND entry.key = lead.word || ' ' || wanted.value
                AND entry.execution_id < ?1
                AND (?2 IS NULL OR instr(one.path_folded, ?2) > 0)
                AND (?5 IS NULL OR one.path = ?5)
                AND (?6 IS NULL OR one.catalog_id = ?6)
                AND (?7 IS NULL OR one.parent_execution_id = ?7)
                AND NOT EXISTS (
                    SELECT 1
                    FROM json_each(coalesce(?8, '{}')) AS label
                    WHERE NOT EXISTS (
                        SELECT 1
                        FROM json_each(coalesce(one.labels, '{}')) AS had
                        WHERE had.key = label.key AND had.value = label.value
                    )
                )
                AND (?9 IS NULL OR one.actor = ?9)
                AND NOT EXISTS (
                    SELECT 1
                    FROM json_each(?10) AS word
                    WHERE
                        instr(one.path_folded, word.value) = 0
                        AND NOT EXISTS (
                            SELECT 1
                            FROM execution_index AS other
                            WHERE
                                other.kind = 'word'
                                AND other.key = word.value || ' ' || wanted.value
                                AND other.execution_id = one.execution_id
                        )
                )
            ORDER BY entry.execution_id DESC
            LIMIT +?3
        )
    )
    ORDER BY execution_id DESC
    LIMIT +?3
)
ORDER BY execution_id DESC
