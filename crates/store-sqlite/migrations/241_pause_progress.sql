-- Pauses that are not applied to all executions yet, and the caller of a resumption.
DROP TABLE IF EXISTS pause_before;
ALTER TABLE pause RENAME TO pause_before;

CREATE TABLE pause (
    kind TEXT NOT NULL CHECK (kind IN ('playbook', 'pool')),
    name TEXT NOT NULL,
    progress TEXT NOT NULL CHECK (progress IN ('pausing', 'paused', 'resuming')),
    actor TEXT,
    reason TEXT,
    since INTEGER NOT NULL,
    resumed_by TEXT,
    resume_reason TEXT,
    -- put_pause.sql, apply_pause.sql, end_pause.sql, remove_pause.sql, list_pauses.sql
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

INSERT INTO pause (kind, name, progress, actor, reason, since)
SELECT kind, name, progress, actor, reason, since
FROM pause_before;

DROP TABLE pause_before;
