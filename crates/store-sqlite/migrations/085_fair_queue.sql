-- Commands are leased in rounds over the executions of a pool.
DROP INDEX command_issued;

-- ready_commands.sql, ready_pools.sql, count_ready_commands.sql: those that nobody has taken.
CREATE INDEX command_issued ON command (pool, execution_id) WHERE status = 'ISSUED';
