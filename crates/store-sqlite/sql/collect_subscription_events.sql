-- Deletes the events of subscriptions that were deactivated before ?1, of at most ?2.
DELETE FROM subscription_event
WHERE subscription_id IN (
    SELECT subscription_id
    FROM subscription
    WHERE last_event = 'subscription.deactivated' AND updated_at < ?1
    ORDER BY updated_at
    LIMIT +?2
)
