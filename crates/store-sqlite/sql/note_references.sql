-- Selects nothing: the migration to the list of references has stored those of all events. ?1 is the
-- time and ?2 the number of executions that another database looks at.
SELECT 0 AS noted WHERE ?1 IS NULL AND ?2 IS NULL
