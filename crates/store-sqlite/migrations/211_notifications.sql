-- Notifications about executions: their event, their messages in the outbox, and the documents of the
-- catalog that are no playbooks.
INSERT OR IGNORE INTO public_event_name (event_type, name, status)
VALUES ('notification.requested', 'notification.requested', 'REQUESTED');

-- take_messages.sql: never taken, oldest first.
CREATE INDEX IF NOT EXISTS outbox_fresh_relayed ON outbox (outbox_id)
    WHERE taken_until IS NULL AND message ->> 'type' <> 'notification';

-- take_notifications.sql: never taken, or due for a retry.
CREATE INDEX IF NOT EXISTS outbox_notification ON outbox (taken_until, outbox_id)
    WHERE message ->> 'type' = 'notification';

-- list_entries_of_kind.sql
CREATE INDEX IF NOT EXISTS catalog_kind ON catalog (kind, path) WHERE kind <> 'Playbook';
