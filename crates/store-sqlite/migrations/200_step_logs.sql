-- The output that tools print while they run, beside the event log.

-- One row for each execution with output: its last position and its size.
CREATE TABLE IF NOT EXISTS log_total (
    -- lock_log_totals.sql
    execution_id INTEGER PRIMARY KEY,
    position     INTEGER NOT NULL CHECK (position >= 0),
    bytes        INTEGER NOT NULL CHECK (bytes >= 0),
    last_at      INTEGER NOT NULL
) STRICT;

-- forget_log_totals.sql
CREATE INDEX IF NOT EXISTS log_total_last ON log_total (last_at);

-- The attempts that have printed something, with the names that people know them by.
CREATE TABLE IF NOT EXISTS log_source (
    execution_id INTEGER NOT NULL,
    command_id   INTEGER NOT NULL,
    attempt      INTEGER NOT NULL,
    step_name    TEXT    NOT NULL,
    label        TEXT    NOT NULL,
    item         INTEGER,
    -- The number of the attempt among all attempts of its task.
    number       INTEGER NOT NULL,
    -- The index of the next chunk: earlier ones are stored.
    chunks       INTEGER NOT NULL CHECK (chunks >= 0),
    bytes        INTEGER NOT NULL CHECK (bytes >= 0),
    -- find_log_progress.sql, find_log_sources.sql, read_logs.sql
    PRIMARY KEY (execution_id, command_id, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS log_chunk (
    execution_id  INTEGER NOT NULL,
    position      INTEGER NOT NULL CHECK (position > 0),
    command_id    INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    stream        TEXT    NOT NULL CHECK (stream IN ('stdout', 'stderr')),
    printed_at    INTEGER NOT NULL,
    omitted_lines INTEGER NOT NULL,
    omitted_bytes INTEGER NOT NULL,
    -- 1 if the command had ended or was leased again when the chunk arrived.
    is_late       INTEGER NOT NULL CHECK (is_late IN (0, 1)),
    body          TEXT    NOT NULL,
    -- read_logs.sql, read_logs_back.sql
    PRIMARY KEY (execution_id, position)
) STRICT;
