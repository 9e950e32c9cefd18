-- The public name of the event that finds an execution late.
INSERT INTO noetl.public_event_name (event_type, name, status)
VALUES ('execution.late', 'execution.late', 'RUNNING')
ON CONFLICT (event_type) DO NOTHING;
