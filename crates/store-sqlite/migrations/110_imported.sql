-- Executions that are known only from projected events.
CREATE TABLE imported_execution (
    -- find_imported.sql, list_imported.sql
    execution_id        INTEGER PRIMARY KEY,
    status              TEXT    NOT NULL,
    path                TEXT    NOT NULL,
    path_folded         TEXT    NOT NULL,
    catalog_id          INTEGER NOT NULL,
    parent_execution_id INTEGER,
    last_at             INTEGER NOT NULL,
    body                TEXT    NOT NULL
) STRICT;

-- list_imported_by_parent.sql
CREATE INDEX imported_execution_parent ON imported_execution (parent_execution_id, execution_id);

-- forget_imported.sql
CREATE INDEX imported_execution_last ON imported_execution (last_at);

-- read_projected_within.sql
CREATE INDEX projected_event_place ON projected_event (execution_id, created_at, event_id);
