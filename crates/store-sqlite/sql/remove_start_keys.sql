-- Deletes some of the start keys that have expired at ?1.
DELETE FROM start_key
WHERE (scope, name) IN (
    SELECT scope, name FROM start_key WHERE kept_until <= ?1 ORDER BY kept_until LIMIT 100
)
