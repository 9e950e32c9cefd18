-- Adds the notification $3 of command $2 of execution $1 to the outbox at $4 (or the database clock),
-- unless a notification of that command is still pending. A dead one is not pending.
INSERT INTO noetl.outbox (execution_id, message, created_at)
SELECT $1::bigint, $3::text::json, coalesce($4, statement_timestamp())
WHERE NOT EXISTS (
    SELECT 1
    FROM noetl.outbox AS owed
    WHERE
        owed.execution_id = $1
        AND owed.dead_at IS NULL
        AND owed.message ->> 'type' = 'command_ready'
        AND (owed.message ->> 'command')::bigint = $2
)
