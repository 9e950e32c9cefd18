-- The public name of the event that finds an execution late.
INSERT OR IGNORE INTO public_event_name (event_type, name, status)
VALUES ('execution.late', 'execution.late', 'RUNNING');
