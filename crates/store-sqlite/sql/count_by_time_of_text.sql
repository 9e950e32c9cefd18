-- Counts executions like count_by_time_of_parent.sql, of any parent ?11 (NULL for any), that have each of
-- the words in the JSON array ?14, which are found as by list_executions_by_text.sql. All bars together
-- read no more entries of each search than they can count; if there are more, at least one bar has the
-- largest count.
WITH RECURSIVE known (path) AS (
    SELECT min(path_folded) FROM execution
    UNION ALL
    SELECT (SELECT min(path_folded) FROM execution WHERE path_folded > known.path)
    FROM known
    WHERE known.path IS NOT NULL
),
sole (word) AS (
    SELECT word.value
    FROM json_each(?14) AS word
    WHERE NOT EXISTS (SELECT 1 FROM known WHERE instr(known.path, word.value) > 0)
    ORDER BY
        (
            SELECT count(*)
            FROM (
                SELECT 1
                FROM json_each(?7) AS wanted
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
    SELECT word.value FROM json_each(?14) AS word WHERE NOT EXISTS (SELECT 1 FROM sole)
)
SELECT (found.execution_id - ?3) / ?4 AS bucket, found.status, count(*) AS count
FROM (
    SELECT *
    FROM (
        SELECT one.execution_id, wanted.value AS status
        FROM known
        CROSS JOIN json_each(?7) AS wanted
        CROSS JOIN execution AS one
        WHERE
            known.path IS NOT NULL
            AND (?8 IS NULL OR instr(known.path, ?8) > 0)
            AND NOT EXISTS (
                SELECT 1 FROM json_each(?14) AS word WHERE instr(known.path, word.value) = 0
            )
            AND one.path_folded = known.path
            AND one.status = wanted.value
            AND one.execution_id < ?2
            AND one.execution_id >= ?1
            AND (?9 IS NULL OR one.path = ?9)
            AND (?10 IS NULL OR one.catalog_id = ?10)
            AND (?11 IS NULL OR one.parent_execution_id = ?11)
            AND NOT EXISTS (
                SELECT 1
                FROM json_each(coalesce(?12, '{}')) AS label
                WHERE NOT EXISTS (
                    SELECT 1
                    FROM json_each(coalesce(one.labels, '{}')) AS had
                    WHERE had.key = label.key AND had.value = label.value
                )
            )
            AND (?13 IS NULL OR one.actor = ?13)
        LIMIT +?5 * ?6 * json_array_length(?7)
    )
    UNION
    SELECT *
    FROM (
        SELECT entry.execution_id, wanted.value AS status
        FROM lead
        CROSS JOIN json_each(?7) AS wanted
        CROSS JOIN execution_index AS entry
        CROSS JOIN execution AS one ON one.execution_id = entry.execution_id
        WHERE
            entry.kind = 'word'
            AND entry.key = lead.word || ' ' || wanted.value
            AND entry.execution_id < ?2
            AND entry.execution_id >= ?1
            AND (?8 IS NULL OR instr(one.path_folded, ?8) > 0)
            AND (?9 IS NULL OR one.path = ?9)
            AND (?10 IS NULL OR one.catalog_id = ?10)
            AND (?11 IS NULL OR one.parent_execution_id = ?11)
            AND NOT EXISTS (
                SELECT 1
                FROM json_each(coalesce(?12, '{}')) AS label
                WHERE NOT EXISTS (
                    SELECT 1
                    FROM json_each(coalesce(one.labels, '{}')) AS had
                    WHERE had.key = label.key AND had.value = label.value
                )
            )
            AND (?13 IS NULL OR one.actor = ?13)
            AND NOT EXISTS (
                SELECT 1
                FROM json_each(?14) AS word
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
        LIMIT +?5 * ?6 * json_array_length(?7) * json_array_length(?14)
    )
) AS found
GROUP BY bucket, found.status
