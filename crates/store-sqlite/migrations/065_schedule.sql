-- Schedules: what has happened to each, and the row that follows.
CREATE TABLE schedule (
    -- find_schedule.sql, list_schedules.sql
    path       TEXT    PRIMARY KEY,
    -- How many events it has.
    seq        INTEGER NOT NULL CHECK (seq > 0),
    -- How it stands, as JSON.
    standing   TEXT    NOT NULL,
    playbook   TEXT    NOT NULL,
    timing     TEXT    NOT NULL,
    -- When it is to be looked at.
    next_at    INTEGER,
    -- Whether instants wait for an execution to end.
    is_waiting INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- due_schedules.sql, next_schedule.sql
CREATE INDEX schedule_next ON schedule (next_at, path) WHERE next_at IS NOT NULL;

-- waiting_schedules.sql
CREATE INDEX schedule_waiting ON schedule (path) WHERE is_waiting = 1;

CREATE TABLE schedule_event (
    path       TEXT    NOT NULL,
    seq        INTEGER NOT NULL CHECK (seq > 0),
    -- As JSON, with its tag.
    event      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    -- read_schedule_events.sql; refuses a second writer.
    PRIMARY KEY (path, seq)
) STRICT, WITHOUT ROWID;
