-- Limits that executions share: slots at a time, or grants per time.
CREATE TABLE IF NOT EXISTS slot_limit (
    limit_name TEXT NOT NULL,
    amount TEXT NOT NULL,
    is_rate INTEGER NOT NULL,
    -- The playbook version whose amount counts.
    defined_by INTEGER NOT NULL,
    -- For a rate, when all grants of a burst are available again.
    full_at INTEGER NOT NULL,
    -- When a request that waits can be granted, if only time is needed.
    next_at INTEGER,
    -- put_limit.sql, lock_limit.sql, move_limit.sql, list_limits.sql, find_limit.sql
    PRIMARY KEY (limit_name)
) STRICT, WITHOUT ROWID;

-- list_due_limits.sql, next_limit.sql
CREATE INDEX IF NOT EXISTS slot_limit_next ON slot_limit (next_at)
    WHERE next_at IS NOT NULL;

-- Slots that are held (granted_at is set), and requests that wait for one.
CREATE TABLE IF NOT EXISTS slot (
    limit_name TEXT NOT NULL,
    execution_id INTEGER NOT NULL,
    -- -1 for a slot of the execution itself.
    command_id INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    on_conflict TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    granted_at INTEGER,
    -- The holder was told to end.
    is_ending INTEGER NOT NULL DEFAULT 0,
    -- The holder knows of its grant or, if it was told to end, has been told.
    is_answered INTEGER NOT NULL DEFAULT 0,
    -- put_slot.sql, remove_slots.sql, grant_slots.sql, acknowledge_slots.sql, list_held_slots.sql
    PRIMARY KEY (limit_name, execution_id, command_id)
) STRICT, WITHOUT ROWID;

-- list_queued_slots.sql, find_slot_place.sql, list_limits.sql
CREATE INDEX IF NOT EXISTS slot_queued
    ON slot (limit_name, priority DESC, asked_at, execution_id, command_id)
    WHERE granted_at IS NULL;

-- count_slots.sql, end_slots.sql, list_slot_holders.sql, list_limits.sql
CREATE INDEX IF NOT EXISTS slot_held
    ON slot (limit_name, granted_at, execution_id, command_id)
    WHERE granted_at IS NOT NULL;

-- list_unanswered_slots.sql
CREATE INDEX IF NOT EXISTS slot_unanswered ON slot (granted_at)
    WHERE granted_at IS NOT NULL AND is_answered = 0;
