-- Writes the first event of a schedule, or the next event of one at seq $2 - 1.
WITH first AS (
    INSERT INTO noetl.schedule (path, seq, standing, playbook, timing, next_at, is_waiting, updated_at)
    SELECT
        $1::text, $2::bigint, $3::text, $4::text, $5::text, $6::timestamptz, $7::boolean,
        $8::timestamptz
    WHERE $2::bigint = 1
    ON CONFLICT DO NOTHING
    RETURNING path
),
next AS (
    UPDATE noetl.schedule
    SET
        seq = $2, standing = $3, playbook = $4, timing = $5, next_at = $6, is_waiting = $7,
        updated_at = $8
    WHERE path = $1 AND seq = $2::bigint - 1
    RETURNING path
)
INSERT INTO noetl.schedule_event (path, seq, event, created_at)
SELECT path, $2::bigint, $9::text, $8::timestamptz
FROM (SELECT path FROM first UNION ALL SELECT path FROM next) AS written
