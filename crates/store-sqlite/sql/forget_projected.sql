DELETE FROM projected_event
WHERE event_id IN (
    SELECT event_id FROM projected_event WHERE created_at < ?1 ORDER BY created_at LIMIT +?2
)
