-- Lists of a playbook's executions, and how far the loops of an execution have come.

-- list_executions_by_path.sql, match_paths.sql
CREATE INDEX execution_path ON noetl.execution (path_folded, execution_id);

-- list_executions_by_catalog.sql
CREATE INDEX execution_catalog ON noetl.execution (catalog_id, execution_id);

ALTER TABLE noetl.execution
    ADD COLUMN items_total     bigint NOT NULL DEFAULT 0 CHECK (items_total >= 0),
    ADD COLUMN items_completed bigint NOT NULL DEFAULT 0 CHECK (items_completed >= 0),
    ADD COLUMN items_failed    bigint NOT NULL DEFAULT 0 CHECK (items_failed >= 0);
