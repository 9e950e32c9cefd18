-- Public names and statuses of events as rows, so that a migration that adds an event adds its row:
--
--     INSERT INTO noetl.public_event_name (event_type, name, status)
--     VALUES ('signal.received', 'signal.received', 'RECEIVED')
--     ON CONFLICT (event_type) DO NOTHING;
CREATE TABLE IF NOT EXISTS noetl.public_event_name (
    event_type text PRIMARY KEY,
    name text NOT NULL,
    status text NOT NULL
);

INSERT INTO noetl.public_event_name (event_type, name, status)
SELECT event_type, name, status
FROM noetl_compat.event_name
ON CONFLICT (event_type) DO NOTHING;

CREATE OR REPLACE VIEW noetl_compat.event_name (event_type, name, status) AS
SELECT event_type, name, status
FROM noetl.public_event_name;
