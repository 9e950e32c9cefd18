-- Lists of imported executions at one status, of a path, of a playbook version and of a parent, newest
-- first: those that few have are found without reading the others.

-- list_imported_by_status.sql
CREATE INDEX imported_execution_status ON noetl.imported_execution (status, execution_id);

-- list_imported_by_path.sql, list_imported_by_part.sql
CREATE INDEX imported_execution_path
    ON noetl.imported_execution (path_folded, status, (-execution_id));

-- list_imported_by_catalog.sql
CREATE INDEX imported_execution_catalog
    ON noetl.imported_execution (catalog_id, status, (-execution_id));

-- list_imported_by_parent.sql
CREATE INDEX imported_execution_parent_newest
    ON noetl.imported_execution (parent_execution_id, status, (-execution_id))
    WHERE parent_execution_id IS NOT NULL;

DROP INDEX noetl.imported_execution_parent;
