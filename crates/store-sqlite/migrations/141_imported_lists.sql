-- Lists of imported executions at one status, of a path, of a playbook version and of a parent, newest
-- first: those that few have are found without reading the others. An index ends with the row id, which
-- is the execution's id.

-- list_imported_by_status.sql
CREATE INDEX imported_execution_status ON imported_execution (status);

-- list_imported_by_path.sql, list_imported_by_part.sql
CREATE INDEX imported_execution_path ON imported_execution (path_folded, status);

-- list_imported_by_catalog.sql
CREATE INDEX imported_execution_catalog ON imported_execution (catalog_id, status);

-- list_imported_by_parent.sql
CREATE INDEX imported_execution_parent_status ON imported_execution (parent_execution_id, status)
    WHERE parent_execution_id IS NOT NULL;

DROP INDEX imported_execution_parent;
