-- Events of others, as they were projected.
CREATE TABLE projected_event (
    -- project_events.sql
    event_id     INTEGER PRIMARY KEY,
    execution_id INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    envelope     TEXT    NOT NULL
) STRICT;

-- read_projected.sql
CREATE INDEX projected_event_execution ON projected_event (execution_id, event_id);

-- forget_projected.sql
CREATE INDEX projected_event_created ON projected_event (created_at);
