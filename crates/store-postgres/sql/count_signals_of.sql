-- Counts the signals for the index key $1 that are not delivered, up to $2.
SELECT count(*) AS count
FROM (
    SELECT 1 FROM noetl.sent_signal WHERE index_key = $1 AND state <> 'delivered' LIMIT $2
) AS undelivered
