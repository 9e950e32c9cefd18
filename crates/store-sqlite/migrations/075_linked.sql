-- An execution may stand below another of which no command waits for it. SQLite cannot drop a check
-- of a table; changing its text is the way that its documentation gives, and the rows stay as they
-- are.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(
    sql,
    'CHECK ((parent_execution_id IS NULL) = (parent_command_id IS NULL))',
    'CHECK (parent_execution_id IS NOT NULL OR parent_command_id IS NULL)'
)
WHERE type = 'table' AND name = 'execution';
PRAGMA writable_schema = RESET;
