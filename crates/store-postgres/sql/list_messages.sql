-- Lists the $2 oldest messages after $1, with state $3 unless it is NULL.
SELECT
    outbox_id, execution_id, message::text AS message, attempts, state, last_error, created_at,
    nullif(taken_until, 'infinity') AS available_at
FROM (
    SELECT
        *,
        CASE
            WHEN dead_at IS NOT NULL THEN 'DEAD'
            WHEN failed_at IS NOT NULL THEN 'FAILED'
            WHEN taken_until IS NOT NULL THEN 'IN_FLIGHT'
            ELSE 'PENDING'
        END AS state
    FROM noetl.outbox
    WHERE outbox_id > $1
) AS letter
WHERE $3::text IS NULL OR state = $3
ORDER BY outbox_id
LIMIT $2
