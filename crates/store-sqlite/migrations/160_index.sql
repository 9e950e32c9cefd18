-- The index of executions: labels, and open waits that something outside can end.
CREATE TABLE execution_index (
    kind         TEXT    NOT NULL,
    key          TEXT    NOT NULL,
    execution_id INTEGER NOT NULL,
    -- The command that waits; -1 for an entry about the execution as a whole.
    command_id   INTEGER NOT NULL CHECK (command_id >= -1),
    created_at   INTEGER NOT NULL,
    -- list_index_newest.sql, list_index_oldest.sql, put_index.sql, remove_index.sql
    PRIMARY KEY (kind, key, execution_id, command_id)
) STRICT, WITHOUT ROWID;

-- list_open_index.sql
CREATE INDEX execution_index_open
    ON execution_index (kind, created_at, execution_id, command_id, key)
    WHERE command_id >= 0;
