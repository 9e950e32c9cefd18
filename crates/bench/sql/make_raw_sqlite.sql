-- Creates a table for dummy rows.
CREATE TABLE raw_event (
    execution_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    event_id INTEGER NOT NULL,
    event_type TEXT NOT NULL,
    node_name TEXT,
    created_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    prev_digest BLOB,
    PRIMARY KEY (execution_id, seq)
) WITHOUT ROWID
