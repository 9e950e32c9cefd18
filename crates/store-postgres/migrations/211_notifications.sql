-- Notifications about executions: their event, their messages in the outbox, and the documents of the
-- catalog that are no playbooks.
INSERT INTO noetl.public_event_name (event_type, name, status)
VALUES ('notification.requested', 'notification.requested', 'REQUESTED')
ON CONFLICT (event_type) DO NOTHING;

-- True for messages that the relay leaves to the sender of notifications.
ALTER TABLE noetl.outbox ADD COLUMN IF NOT EXISTS is_notification boolean NOT NULL
    GENERATED ALWAYS AS (message ->> 'type' = 'notification') STORED;

-- take_messages.sql: never taken, oldest first.
CREATE INDEX IF NOT EXISTS outbox_fresh_relayed ON noetl.outbox (outbox_id)
    WHERE taken_until IS NULL AND NOT is_notification;

-- take_notifications.sql: never taken, or due for a retry.
CREATE INDEX IF NOT EXISTS outbox_notification ON noetl.outbox (taken_until, outbox_id)
    WHERE is_notification;

-- list_entries_of_kind.sql
CREATE INDEX IF NOT EXISTS catalog_kind ON noetl.catalog (kind, path) WHERE kind <> 'Playbook';
