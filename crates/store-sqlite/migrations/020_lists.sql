-- Lists of a playbook's executions, and how far the loops of an execution have come. An index ends
-- with the row id, which is the execution's id.

-- list_executions_by_path.sql, match_paths.sql
CREATE INDEX execution_path ON execution (path_folded);

-- list_executions_by_catalog.sql
CREATE INDEX execution_catalog ON execution (catalog_id);

ALTER TABLE execution ADD COLUMN items_total INTEGER NOT NULL DEFAULT 0 CHECK (items_total >= 0);
ALTER TABLE execution ADD COLUMN items_completed INTEGER NOT NULL DEFAULT 0
    CHECK (items_completed >= 0);
ALTER TABLE execution ADD COLUMN items_failed INTEGER NOT NULL DEFAULT 0 CHECK (items_failed >= 0);
