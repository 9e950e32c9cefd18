-- Counts the requests of limit ?1 up to that of execution ?2 and command ?3; zero if it does not wait.
SELECT count(*) AS count
FROM slot AS own
JOIN slot AS ahead
    ON ahead.limit_name = own.limit_name
    AND ahead.granted_at IS NULL
    AND (
        ahead.priority > own.priority
        OR (
            ahead.priority = own.priority
            AND (ahead.asked_at, ahead.execution_id, ahead.command_id)
                <= (own.asked_at, own.execution_id, own.command_id)
        )
    )
WHERE
    own.limit_name = ?1
    AND own.execution_id = ?2
    AND own.command_id = ?3
    AND own.granted_at IS NULL
