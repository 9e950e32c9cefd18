-- Selects at most $3 events of subscription $1 after event $2.
SELECT seq, event_id, event_type, created_at
FROM noetl.subscription_event
WHERE subscription_id = $1 AND seq > $2
ORDER BY seq
LIMIT $3
