-- list_undelivered_signals.sql, put_signal.sql
CREATE INDEX IF NOT EXISTS sent_signal_undelivered
    ON sent_signal (index_key, signal_id) WHERE state <> 'delivered';

DROP INDEX IF EXISTS sent_signal_kept;
