-- Lists of a path's executions at one status, without looking at those at others. An index ends with
-- the row id, which is the execution's id.

-- list_executions_by_path.sql, list_executions_by_part.sql
CREATE INDEX execution_path_status ON execution (path_folded, status);

DROP INDEX execution_path;
