-- Commands are leased by priority, then in rounds over the executions of a pool.
ALTER TABLE command
    ADD COLUMN priority INTEGER NOT NULL DEFAULT 5 CHECK (priority BETWEEN 0 AND 9);

DROP INDEX IF EXISTS command_issued;

-- ready_commands.sql, ready_pools.sql, count_ready_commands.sql, count_waiting_executions.sql: those
-- that nobody has taken.
CREATE INDEX command_issued ON command (pool, priority, execution_id) WHERE status = 'ISSUED';
