-- Records that messages failed at ?1; ?2 is a JSON array of [id, error, end of the wait]. A message
-- without an end becomes dead.
UPDATE outbox
SET
    attempts = max(attempts, 1),
    failed_at = ?1,
    last_error = failed.value ->> 1,
    dead_at = CASE WHEN failed.value ->> 2 IS NULL THEN ?1 END,
    taken_until = coalesce(failed.value ->> 2, 9223372036854775807)
FROM json_each(?2) AS failed
WHERE outbox_id = failed.value ->> 0 AND dead_at IS NULL
