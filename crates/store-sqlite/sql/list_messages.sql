-- Lists the ?2 oldest messages after ?1, with state ?3 unless it is NULL.
SELECT
    outbox_id, execution_id, message, attempts, state, last_error, created_at,
    nullif(taken_until, 9223372036854775807) AS available_at
FROM (
    SELECT
        *,
        CASE
            WHEN dead_at IS NOT NULL THEN 'DEAD'
            WHEN failed_at IS NOT NULL THEN 'FAILED'
            WHEN taken_until IS NOT NULL THEN 'IN_FLIGHT'
            ELSE 'PENDING'
        END AS state
    FROM outbox
    WHERE outbox_id > ?1
)
WHERE ?3 IS NULL OR state = ?3
ORDER BY outbox_id
LIMIT +?2
