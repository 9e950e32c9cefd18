-- Deletes the events of subscriptions that were deactivated before $1, of at most $2.
DELETE FROM noetl.subscription_event
WHERE subscription_id = ANY (
    ARRAY(
        SELECT subscription_id
        FROM noetl.subscription
        WHERE last_event = 'subscription.deactivated' AND updated_at < $1
        ORDER BY updated_at
        LIMIT $2
    )
)
