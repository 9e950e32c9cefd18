SELECT subscription_id, path, catalog_id, seq, last_event, updated_at
FROM noetl.subscription
WHERE subscription_id = $1
