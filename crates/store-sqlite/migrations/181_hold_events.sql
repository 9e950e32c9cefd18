-- Public names and statuses of the events of pauses and slots.
INSERT OR IGNORE INTO public_event_name (event_type, name, status)
VALUES
    ('execution.paused', 'execution.paused', 'PAUSED'),
    ('execution.resumed', 'execution.resumed', 'RUNNING'),
    ('slot.requested', 'slot.requested', 'WAITING'),
    ('slot.granted', 'slot.granted', 'RUNNING');
