-- Commands are leased by priority, then in rounds over the executions of a pool. Servers of the
-- version before write the default priority, and sort what waits until they are replaced.
ALTER TABLE noetl.command
    ADD COLUMN IF NOT EXISTS priority bigint NOT NULL DEFAULT 5 CHECK (priority BETWEEN 0 AND 9);

DROP INDEX IF EXISTS noetl.command_issued;

-- ready_commands.sql, ready_pools.sql, count_ready_commands.sql, count_waiting_executions.sql: those
-- that nobody has taken.
CREATE INDEX command_issued ON noetl.command (pool, priority, execution_id, position)
    WHERE status = 'ISSUED';

-- A command that an append adds or changes.
DROP TYPE IF EXISTS noetl.queued_command;
CREATE TYPE noetl.queued_command AS (
    execution_id bigint,
    command_id bigint,
    pool text,
    step_name text,
    attempt bigint,
    status text,
    worker_id text,
    lease_until timestamptz,
    priority bigint
);
