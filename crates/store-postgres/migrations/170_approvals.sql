-- Public names and statuses of the events of approvals.
INSERT INTO noetl.public_event_name (event_type, name, status)
VALUES
    ('approval.requested', 'approval.requested', 'WAITING'),
    ('approval.decided', 'approval.decided', 'DECIDED')
ON CONFLICT (event_type) DO NOTHING;
