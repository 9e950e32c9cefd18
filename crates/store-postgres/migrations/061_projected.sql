-- Events of others, in the cluster's database, as they were projected.
CREATE TABLE noetl.projected_event (
    -- project_events.sql
    event_id     bigint      PRIMARY KEY,
    execution_id bigint      NOT NULL,
    created_at   timestamptz NOT NULL,
    envelope     json        NOT NULL
);

-- read_projected.sql
CREATE INDEX projected_event_execution ON noetl.projected_event (execution_id, event_id);

-- forget_projected.sql
CREATE INDEX projected_event_created ON noetl.projected_event (created_at);
