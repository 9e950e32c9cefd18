-- Public names and statuses of events as rows, so that a migration that adds an event adds its row:
--
--     INSERT OR IGNORE INTO public_event_name (event_type, name, status)
--     VALUES ('signal.received', 'signal.received', 'RECEIVED');
CREATE TABLE IF NOT EXISTS public_event_name (
    event_type TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    status TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT OR IGNORE INTO public_event_name (event_type, name, status)
SELECT event_type, name, status
FROM noetl_compat_event_name;

DROP VIEW IF EXISTS noetl_compat_event_name;
CREATE VIEW noetl_compat_event_name (event_type, name, status) AS
SELECT event_type, name, status
FROM public_event_name;
