-- Pauses of playbooks and pools.
CREATE TABLE IF NOT EXISTS pause (
    kind TEXT NOT NULL CHECK (kind IN ('playbook', 'pool')),
    name TEXT NOT NULL,
    progress TEXT NOT NULL CHECK (progress IN ('paused', 'resuming')),
    actor TEXT,
    reason TEXT,
    since INTEGER NOT NULL,
    -- put_pause.sql, remove_pause.sql, list_pauses.sql
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
