-- Commands are leased in rounds over the executions of a pool. A server of the version before, which
-- leases the longest-waiting first, sorts what waits until it is replaced.
DROP INDEX noetl.command_issued;

-- ready_commands.sql, ready_pools.sql, count_ready_commands.sql: those that nobody has taken.
CREATE INDEX command_issued ON noetl.command (pool, execution_id, position)
    WHERE status = 'ISSUED';
