-- Reads the owner of a file: its application id, and whether it has any table besides the list of
-- migrations.
SELECT
    (SELECT application_id FROM pragma_application_id) AS application_id,
    EXISTS (SELECT 1 FROM sqlite_schema WHERE tbl_name <> '_sqlx_migrations') AS in_use
