-- Selects the last migration that was applied to the file.
SELECT max(version) AS version FROM _sqlx_migrations
