-- The last migration this file has been through.
SELECT max(version) AS version FROM _sqlx_migrations
