-- Counts the signals that are not delivered, up to ?1.
SELECT count(*) AS count
FROM (SELECT 1 FROM sent_signal WHERE state <> 'delivered' LIMIT +?1)
