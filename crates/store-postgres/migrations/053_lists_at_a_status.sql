-- Lists of a playbook version's executions, and of an execution's children, at one status, newest first:
-- one that few have is found without looking at those at others.

-- list_executions_by_catalog.sql
CREATE INDEX execution_catalog_newest ON noetl.execution (catalog_id, status, (-execution_id));

DROP INDEX noetl.execution_catalog;

-- list_executions_by_parent.sql
CREATE INDEX execution_parent_newest
    ON noetl.execution (parent_execution_id, status, (-execution_id))
    WHERE parent_execution_id IS NOT NULL;

DROP INDEX noetl.execution_parent;
