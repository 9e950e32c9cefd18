-- Signals that are sent by a correlation key and kept until a wait takes them, in the cluster's
-- database.
CREATE TABLE IF NOT EXISTS noetl.sent_signal (
    -- find_signal.sql, move_signal.sql, release_signal.sql
    signal_id    bigint           PRIMARY KEY,
    index_key    text COLLATE "C" NOT NULL,
    -- find_signal_by_key.sql; a key stores one signal.
    once_key     text COLLATE "C" UNIQUE,
    state        text             NOT NULL CHECK (state IN ('kept', 'assigned', 'delivered')),
    -- The wait that gets the signal.
    execution_id bigint,
    command_id   bigint,
    expires_at   timestamptz      NOT NULL,
    body         json             NOT NULL,
    CHECK ((state = 'kept') = (execution_id IS NULL)),
    CHECK ((execution_id IS NULL) = (command_id IS NULL))
);

-- list_kept_signals.sql, count_signals.sql
CREATE INDEX IF NOT EXISTS sent_signal_kept
    ON noetl.sent_signal (index_key, signal_id) WHERE state = 'kept';

-- list_open_signals.sql
CREATE INDEX IF NOT EXISTS sent_signal_open
    ON noetl.sent_signal (signal_id) WHERE state <> 'delivered';

-- forget_signals.sql
CREATE INDEX IF NOT EXISTS sent_signal_expiry ON noetl.sent_signal (expires_at);
