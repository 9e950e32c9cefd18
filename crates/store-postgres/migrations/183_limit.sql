-- Limits that executions share: slots at a time, or grants per time.
CREATE TABLE IF NOT EXISTS noetl.slot_limit (
    limit_name text COLLATE "C" NOT NULL,
    amount json NOT NULL,
    is_rate boolean NOT NULL,
    -- The playbook version whose amount counts.
    defined_by bigint NOT NULL,
    -- For a rate, when all grants of a burst are available again.
    full_at timestamptz NOT NULL,
    -- When a request that waits can be granted, if only time is needed.
    next_at timestamptz,
    -- put_limit.sql, lock_limit.sql, move_limit.sql, list_limits.sql, find_limit.sql
    PRIMARY KEY (limit_name)
);

-- list_due_limits.sql, next_limit.sql
CREATE INDEX IF NOT EXISTS slot_limit_next ON noetl.slot_limit (next_at)
    WHERE next_at IS NOT NULL;

-- Slots that are held (granted_at is set), and requests that wait for one.
CREATE TABLE IF NOT EXISTS noetl.slot (
    limit_name text COLLATE "C" NOT NULL,
    execution_id bigint NOT NULL,
    -- -1 for a slot of the execution itself.
    command_id bigint NOT NULL,
    priority bigint NOT NULL,
    on_conflict text NOT NULL,
    asked_at timestamptz NOT NULL,
    granted_at timestamptz,
    -- The holder was told to end.
    is_ending boolean NOT NULL DEFAULT false,
    -- The holder knows of its grant or, if it was told to end, has been told.
    is_answered boolean NOT NULL DEFAULT false,
    -- put_slot.sql, remove_slots.sql, grant_slots.sql, acknowledge_slots.sql, list_held_slots.sql
    PRIMARY KEY (limit_name, execution_id, command_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- list_queued_slots.sql, find_slot_place.sql, list_limits.sql
CREATE INDEX IF NOT EXISTS slot_queued
    ON noetl.slot (limit_name, priority DESC, asked_at, execution_id, command_id)
    WHERE granted_at IS NULL;

-- count_slots.sql, end_slots.sql, list_slot_holders.sql, list_limits.sql
CREATE INDEX IF NOT EXISTS slot_held
    ON noetl.slot (limit_name, granted_at, execution_id, command_id)
    WHERE granted_at IS NOT NULL;

-- list_unanswered_slots.sql
CREATE INDEX IF NOT EXISTS slot_unanswered ON noetl.slot (granted_at)
    WHERE granted_at IS NOT NULL AND NOT is_answered;
