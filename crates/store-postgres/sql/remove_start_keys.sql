-- Forgets some of the start keys that are not kept any more at $1, and that nobody is writing.
DELETE FROM noetl.start_key
WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM noetl.start_key
    WHERE kept_until <= $1
    ORDER BY kept_until
    LIMIT 100
    FOR UPDATE SKIP LOCKED
))
