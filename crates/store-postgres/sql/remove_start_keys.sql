-- Deletes some of the start keys that have expired at $1 and are not locked by a writer.
DELETE FROM noetl.start_key
WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM noetl.start_key
    WHERE kept_until <= $1
    ORDER BY kept_until
    LIMIT 100
    FOR UPDATE SKIP LOCKED
))
