-- Statements within functions are measured too.
ALTER SYSTEM SET pg_stat_statements.track = 'all'
