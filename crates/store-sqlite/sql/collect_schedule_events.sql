-- Deletes events of schedules that are older than ?1, at most ?2, except the last ?3 of each.
DELETE FROM schedule_event
WHERE (path, seq) IN (
    SELECT old.path, old.seq
    FROM schedule_event AS old
    CROSS JOIN schedule ON schedule.path = old.path
    WHERE old.created_at < ?1 AND old.seq <= schedule.seq - ?3
    ORDER BY old.created_at
    LIMIT +?2
)
