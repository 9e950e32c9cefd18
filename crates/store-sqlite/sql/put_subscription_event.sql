-- Appends an event to a subscription.
INSERT INTO subscription_event (subscription_id, seq, event_id, event_type, created_at)
VALUES (?1, ?4, ?7, ?5, ?6)
