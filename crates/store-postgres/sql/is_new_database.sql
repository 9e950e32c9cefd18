-- True if no migration has been applied to the database.
SELECT to_regclass('noetl.schema_migration') IS NULL
