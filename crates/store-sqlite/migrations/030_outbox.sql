-- Messages that fail wait, and those that fail too often are dead: they lie here until somebody has
-- them tried again or drops them.

-- When it last failed; nothing while it is being tried again.
ALTER TABLE outbox ADD COLUMN failed_at INTEGER;
ALTER TABLE outbox ADD COLUMN last_error TEXT;
-- A dead message is taken for ever: `taken_until` is the end of time.
ALTER TABLE outbox ADD COLUMN dead_at INTEGER
    CHECK ((dead_at IS NOT NULL) = (taken_until IS 9223372036854775807));

-- take_messages.sql: those whose time has come again, longest-waiting first.
DROP INDEX outbox_taken;
CREATE INDEX outbox_taken ON outbox (taken_until, outbox_id) WHERE taken_until IS NOT NULL;

-- stalled_executions.sql, claim_messages.sql
DROP INDEX outbox_execution;
CREATE INDEX outbox_execution ON outbox (execution_id, outbox_id);
