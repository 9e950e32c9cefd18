-- Selects the replay of format ?3 with the highest seq that does not exceed seq ?4, event id ?5 and
-- instant ?6. ?5 and ?6 may be NULL.
SELECT seq, last_event_id, last_event_at, shape, body
FROM replay_fold
WHERE
    execution_id = ?1
    AND projection = ?2
    AND shape = ?3
    AND seq <= ?4
    AND (?5 IS NULL OR last_event_id <= ?5)
    AND (?6 IS NULL OR last_event_at <= ?6)
ORDER BY seq DESC
LIMIT 1
