-- Deletes the snapshot of the execution $1, and the rows about its children.
WITH children AS (
    DELETE FROM noetl.child WHERE parent_execution_id = $1
)
DELETE FROM noetl.projection_snapshot WHERE execution_id = $1
