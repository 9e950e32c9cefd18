-- Executions with projected events that are older than the table of imported executions. A server folds
-- them when it starts, and removes the rows.
CREATE TABLE noetl.unfolded_import (
    -- list_unfolded_imports.sql, remove_unfolded_import.sql
    execution_id bigint PRIMARY KEY
);

INSERT INTO noetl.unfolded_import (execution_id)
SELECT DISTINCT projected.execution_id
FROM noetl.projected_event AS projected
WHERE
    projected.execution_id > 0
    AND NOT EXISTS (
        SELECT FROM noetl.imported_execution AS known
        WHERE known.execution_id = projected.execution_id
    );
