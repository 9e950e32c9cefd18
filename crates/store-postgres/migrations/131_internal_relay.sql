-- The messages that the relay sends where an external program publishes the notifications: found
-- without reading the notifications that wait for that program.

-- take_internal_messages.sql: never taken, oldest first.
CREATE INDEX outbox_fresh_internal ON noetl.outbox (outbox_id)
    WHERE taken_until IS NULL AND message ->> 'type' <> 'command_ready';

-- take_internal_messages.sql: due for a retry.
CREATE INDEX outbox_taken_internal ON noetl.outbox (taken_until, outbox_id)
    WHERE taken_until IS NOT NULL AND message ->> 'type' <> 'command_ready';
