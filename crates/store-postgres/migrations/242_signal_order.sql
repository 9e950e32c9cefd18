-- list_undelivered_signals.sql, put_signal.sql
CREATE INDEX IF NOT EXISTS sent_signal_undelivered
    ON noetl.sent_signal (index_key, signal_id) WHERE state <> 'delivered';

DROP INDEX IF EXISTS noetl.sent_signal_kept;
