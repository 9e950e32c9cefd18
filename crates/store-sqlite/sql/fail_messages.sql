-- Records that messages failed at ?2; ?1 is a JSON array of [id, error, end of the wait]. A message
-- without an end becomes dead.
UPDATE outbox
SET
    attempts = max(attempts, 1),
    failed_at = ?2,
    last_error = failed.value ->> 1,
    dead_at = CASE WHEN failed.value ->> 2 IS NULL THEN ?2 END,
    taken_until = coalesce(failed.value ->> 2, 9223372036854775807)
FROM json_each(?1) AS failed
WHERE outbox_id = failed.value ->> 0 AND dead_at IS NULL
