-- Selects the active subscription of a path, else the newest.
SELECT subscription_id, path, catalog_id, seq, last_event, updated_at
FROM noetl.subscription
WHERE path = $1
ORDER BY last_event = 'subscription.deactivated', subscription_id DESC
LIMIT 1
