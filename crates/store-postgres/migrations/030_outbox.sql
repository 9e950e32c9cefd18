-- Messages that fail wait, and those that fail too often are dead: they lie here until somebody has
-- them tried again or drops them.
ALTER TABLE noetl.outbox
    -- When it last failed; nothing while it is being tried again.
    ADD COLUMN failed_at  timestamptz,
    ADD COLUMN last_error text,
    -- A dead message is taken for ever: `taken_until` is infinity.
    ADD COLUMN dead_at    timestamptz,
    ADD CHECK ((dead_at IS NOT NULL) = (taken_until IS NOT DISTINCT FROM 'infinity'));

-- stalled_executions.sql, claim_messages.sql
DROP INDEX noetl.outbox_execution;
CREATE INDEX outbox_execution ON noetl.outbox (execution_id, outbox_id);
