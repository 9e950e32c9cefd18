-- Deletes events of schedules that are older than $1, at most $2, except the last $3 of each.
DELETE FROM noetl.schedule_event AS gone
USING (
    SELECT old.path, old.seq
    FROM noetl.schedule_event AS old
    JOIN noetl.schedule ON schedule.path = old.path
    WHERE old.created_at < $1 AND old.seq <= schedule.seq - $3::bigint
    ORDER BY old.created_at
    LIMIT $2
) AS old
WHERE gone.path = old.path AND gone.seq = old.seq
