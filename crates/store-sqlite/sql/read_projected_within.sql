-- Selects at most ?6 projected events of execution ?1 after time ?2 and id ?3, up to time ?4 and
-- id ?5, ordered by time and id.
SELECT envelope
FROM projected_event
WHERE
    execution_id = ?1
    AND (created_at, event_id) > (?2, ?3)
    AND (created_at, event_id) <= (?4, ?5)
ORDER BY created_at, event_id
LIMIT +?6
