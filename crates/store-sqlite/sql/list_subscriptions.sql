-- Lists the ?2 newest subscriptions before ?1.
SELECT subscription_id, path, catalog_id, seq, last_event, updated_at
FROM subscription
WHERE subscription_id < ?1
ORDER BY subscription_id DESC
LIMIT +?2
