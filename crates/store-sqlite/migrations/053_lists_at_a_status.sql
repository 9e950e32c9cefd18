-- Lists of a playbook version's executions, and of an execution's children, at one status, newest first:
-- one that few have is found without looking at those at others. An index ends with the row id, which is
-- the execution's id.

-- list_executions_by_catalog.sql
CREATE INDEX execution_catalog_status ON execution (catalog_id, status);

DROP INDEX execution_catalog;

-- list_executions_by_parent.sql
CREATE INDEX execution_parent_status ON execution (parent_execution_id, status)
    WHERE parent_execution_id IS NOT NULL;
