-- Executions that are known only from projected events, in the cluster's database.
CREATE TABLE noetl.imported_execution (
    -- find_imported.sql, list_imported.sql
    execution_id        bigint           PRIMARY KEY,
    status              text             NOT NULL,
    path                text COLLATE "C" NOT NULL,
    path_folded         text COLLATE "C" NOT NULL,
    catalog_id          bigint           NOT NULL,
    parent_execution_id bigint,
    last_at             timestamptz      NOT NULL,
    body                json             NOT NULL
);

-- list_imported_by_parent.sql
CREATE INDEX imported_execution_parent
    ON noetl.imported_execution (parent_execution_id, execution_id DESC);

-- forget_imported.sql
CREATE INDEX imported_execution_last ON noetl.imported_execution (last_at);

-- read_projected_within.sql
CREATE INDEX projected_event_place
    ON noetl.projected_event (execution_id, created_at, event_id);
