-- Public names and statuses of the events of approvals.
INSERT OR IGNORE INTO public_event_name (event_type, name, status)
VALUES
    ('approval.requested', 'approval.requested', 'WAITING'),
    ('approval.decided', 'approval.decided', 'DECIDED');
