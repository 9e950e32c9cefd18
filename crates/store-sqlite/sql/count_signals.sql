-- Counts the signals that no wait has taken, up to ?1.
SELECT count(*) AS count
FROM (SELECT 1 FROM sent_signal WHERE state = 'kept' LIMIT +?1)
