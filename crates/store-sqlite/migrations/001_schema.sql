-- What one process keeps. Instants (`*_at`, `*_until`) are microseconds since 1970 in UTC; JSON is
-- text, so that it can be read with any SQLite tool.

-- Marks the file as ours ("NoET"), so that no other program's database is ever written to.
PRAGMA application_id = 1315915092;

CREATE TABLE execution (
    execution_id        INTEGER PRIMARY KEY,
    catalog_id          INTEGER NOT NULL,
    path                TEXT    NOT NULL,
    -- The path in lower case, for searching.
    path_folded         TEXT    NOT NULL,
    version             INTEGER NOT NULL CHECK (version >= 0),
    status              TEXT    NOT NULL
        CHECK (status IN ('RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED')),
    -- The number of its last event.
    seq                 INTEGER NOT NULL CHECK (seq >= 0),
    last_event_at       INTEGER NOT NULL,
    started_at          INTEGER NOT NULL,
    ended_at            INTEGER,
    parent_execution_id INTEGER,
    parent_command_id   INTEGER,
    current_step        TEXT,
    steps_total         INTEGER NOT NULL CHECK (steps_total >= 0),
    steps_running       INTEGER NOT NULL CHECK (steps_running >= 0),
    steps_completed     INTEGER NOT NULL CHECK (steps_completed >= 0),
    steps_failed        INTEGER NOT NULL CHECK (steps_failed >= 0),
    error               TEXT,
    CHECK ((parent_execution_id IS NULL) = (parent_command_id IS NULL))
) STRICT;

-- list_executions_by_status.sql
CREATE INDEX execution_status ON execution (status, execution_id);

-- find_child.sql, list_executions_by_parent.sql; refuses a second child for one command.
CREATE UNIQUE INDEX execution_parent ON execution (parent_execution_id, parent_command_id)
    WHERE parent_execution_id IS NOT NULL;

-- stalled_executions.sql
CREATE INDEX execution_running ON execution (last_event_at, execution_id)
    WHERE status = 'RUNNING';

-- The log. Event ids grow, so as the row id they append to the end of the table and need no index
-- of their own. WITHOUT ROWID would keep an execution's events side by side, but spills every body
-- of more than a quarter of a page into overflow pages.
CREATE TABLE event (
    event_id     INTEGER PRIMARY KEY,
    execution_id INTEGER NOT NULL REFERENCES execution (execution_id),
    seq          INTEGER NOT NULL CHECK (seq > 0),
    event_type   TEXT    NOT NULL,
    node_name    TEXT,
    created_at   INTEGER NOT NULL,
    body         TEXT    NOT NULL,
    -- read_events.sql; refuses a second writer.
    UNIQUE (execution_id, seq)
) STRICT;

-- Open commands only: the queue.
CREATE TABLE command (
    -- Grows with every command that is added.
    position     INTEGER PRIMARY KEY,
    execution_id INTEGER NOT NULL REFERENCES execution (execution_id),
    command_id   INTEGER NOT NULL CHECK (command_id >= 0),
    pool         TEXT    NOT NULL,
    step_name    TEXT    NOT NULL,
    attempt      INTEGER NOT NULL CHECK (attempt >= 0),
    status       TEXT    NOT NULL CHECK (status IN ('ISSUED', 'CLAIMED', 'PARKED')),
    worker_id    TEXT,
    lease_until  INTEGER,
    created_at   INTEGER NOT NULL,
    -- find_commands.sql, extend_leases.sql, remove_commands.sql, stalled_executions.sql
    UNIQUE (execution_id, command_id),
    CHECK ((status = 'CLAIMED') = (worker_id IS NOT NULL)),
    CHECK ((status = 'CLAIMED') = (lease_until IS NOT NULL))
) STRICT;

-- ready_commands.sql, count_ready_commands.sql: those that nobody has taken.
CREATE INDEX command_issued ON command (pool, created_at) WHERE status = 'ISSUED';

-- ready_commands.sql, count_ready_commands.sql: those whose worker is lost.
CREATE INDEX command_claimed ON command (pool, lease_until) WHERE status = 'CLAIMED';

-- exhausted_leases.sql
CREATE INDEX command_lease ON command (lease_until) WHERE status = 'CLAIMED';

CREATE TABLE timer (
    execution_id INTEGER NOT NULL REFERENCES execution (execution_id),
    timer_id     INTEGER NOT NULL CHECK (timer_id >= 0),
    due_at       INTEGER NOT NULL,
    PRIMARY KEY (execution_id, timer_id)
) STRICT, WITHOUT ROWID;

-- due_timers.sql, next_timer.sql
CREATE INDEX timer_due ON timer (due_at);

-- Owed messages only. An id is never used again: it is the message's identity towards others.
CREATE TABLE outbox (
    outbox_id    INTEGER PRIMARY KEY AUTOINCREMENT,
    execution_id INTEGER NOT NULL REFERENCES execution (execution_id),
    message      TEXT    NOT NULL,
    attempts     INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- Until when the message is its sender's.
    taken_until  INTEGER,
    created_at   INTEGER NOT NULL,
    CHECK ((attempts = 0) = (taken_until IS NULL))
) STRICT;

-- take_messages.sql: those that nobody has taken, oldest first.
CREATE INDEX outbox_fresh ON outbox (outbox_id) WHERE taken_until IS NULL;

-- take_messages.sql: those whose sender is lost.
CREATE INDEX outbox_taken ON outbox (taken_until) WHERE taken_until IS NOT NULL;

-- stalled_executions.sql
CREATE INDEX outbox_execution ON outbox (execution_id);

-- Large values by the SHA-256 of their JSON.
CREATE TABLE payload (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    body   BLOB NOT NULL
) STRICT;

CREATE TABLE catalog (
    catalog_id INTEGER PRIMARY KEY,
    path       TEXT    NOT NULL,
    version    INTEGER NOT NULL CHECK (version > 0),
    kind       TEXT    NOT NULL,
    content    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    -- newest_playbook.sql, find_playbook_version.sql, list_paths.sql
    UNIQUE (path, version)
) STRICT;

-- Saved folds: a cache, whose rows may be deleted at any time.
CREATE TABLE snapshot (
    execution_id INTEGER PRIMARY KEY,
    seq          INTEGER NOT NULL CHECK (seq >= 0),
    shape        INTEGER NOT NULL CHECK (shape >= 0),
    body         BLOB    NOT NULL
) STRICT;
