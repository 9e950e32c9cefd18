-- Signals that are sent by a correlation key and kept until a wait takes them.
CREATE TABLE IF NOT EXISTS sent_signal (
    -- find_signal.sql, move_signal.sql, release_signal.sql
    signal_id    INTEGER PRIMARY KEY,
    index_key    TEXT    NOT NULL,
    -- find_signal_by_key.sql; a key stores one signal.
    once_key     TEXT    UNIQUE,
    state        TEXT    NOT NULL CHECK (state IN ('kept', 'assigned', 'delivered')),
    -- The wait that gets the signal.
    execution_id INTEGER,
    command_id   INTEGER,
    expires_at   INTEGER NOT NULL,
    body         TEXT    NOT NULL,
    CHECK ((state = 'kept') = (execution_id IS NULL)),
    CHECK ((execution_id IS NULL) = (command_id IS NULL))
) STRICT;

-- list_kept_signals.sql, count_signals.sql
CREATE INDEX IF NOT EXISTS sent_signal_kept
    ON sent_signal (index_key, signal_id) WHERE state = 'kept';

-- list_open_signals.sql
CREATE INDEX IF NOT EXISTS sent_signal_open ON sent_signal (signal_id) WHERE state <> 'delivered';

-- forget_signals.sql
CREATE INDEX IF NOT EXISTS sent_signal_expiry ON sent_signal (expires_at);
