-- Schedules, in the cluster's database: what has happened to each, and the row that follows.
CREATE TABLE noetl.schedule (
    -- find_schedule.sql, list_schedules.sql
    path       text COLLATE "C" PRIMARY KEY,
    -- How many events it has.
    seq        bigint           NOT NULL CHECK (seq > 0),
    -- How it stands, as JSON.
    standing   text             NOT NULL,
    playbook   text             NOT NULL,
    timing     text             NOT NULL,
    -- When it is to be looked at.
    next_at    timestamptz,
    -- Whether instants wait for an execution to end.
    is_waiting boolean          NOT NULL,
    updated_at timestamptz      NOT NULL
);

-- due_schedules.sql, next_schedule.sql
CREATE INDEX schedule_next ON noetl.schedule (next_at, path) WHERE next_at IS NOT NULL;

-- waiting_schedules.sql
CREATE INDEX schedule_waiting ON noetl.schedule (path) WHERE is_waiting;

CREATE TABLE noetl.schedule_event (
    path       text COLLATE "C" NOT NULL,
    seq        bigint           NOT NULL CHECK (seq > 0),
    -- As JSON, with its tag.
    event      text             NOT NULL,
    created_at timestamptz      NOT NULL,
    -- read_schedule_events.sql; refuses a second writer.
    PRIMARY KEY (path, seq)
);
