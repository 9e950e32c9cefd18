-- Measures statements within functions too.
ALTER SYSTEM SET pg_stat_statements.track = 'all'
