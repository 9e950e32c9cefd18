-- Retention of the histories of schedules and subscriptions.

-- collect_schedule_events.sql
CREATE INDEX schedule_event_created ON noetl.schedule_event (created_at);

-- collect_subscription_events.sql, collect_subscriptions.sql
CREATE INDEX subscription_deactivated ON noetl.subscription (updated_at)
    WHERE last_event = 'subscription.deactivated';
