-- An execution that waits for its own slot is an open entry as well.
DROP INDEX IF EXISTS execution_index_open;

-- list_open_index.sql
CREATE INDEX execution_index_open
    ON execution_index (kind, created_at, execution_id, command_id, key)
    WHERE command_id >= 0 OR kind = 'awaited_slot';
