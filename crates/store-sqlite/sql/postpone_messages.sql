-- Returns taken messages that were not tried: they wait until ?2, and the attempt does not count;
-- ?1 is a JSON array of ids.
UPDATE outbox
SET attempts = max(attempts - 1, 1), taken_until = ?2
WHERE
    outbox_id IN (SELECT value FROM json_each(?1))
    AND taken_until IS NOT NULL
    AND failed_at IS NULL
