-- Pauses of playbooks and pools.
CREATE TABLE IF NOT EXISTS noetl.pause (
    kind text NOT NULL CHECK (kind IN ('playbook', 'pool')),
    name text COLLATE "C" NOT NULL,
    progress text NOT NULL CHECK (progress IN ('paused', 'resuming')),
    actor text,
    reason text,
    since timestamptz NOT NULL,
    -- put_pause.sql, remove_pause.sql, list_pauses.sql
    PRIMARY KEY (kind, name)
);
