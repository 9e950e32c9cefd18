-- Lists of a path's executions at one status, without looking at those at others.

-- list_executions_by_path.sql, list_executions_by_part.sql
CREATE INDEX execution_path_status ON noetl.execution (path_folded, status, execution_id);

DROP INDEX noetl.execution_path;
