-- Selects the snapshot of an execution.
SELECT seq, shape, body FROM noetl.projection_snapshot WHERE execution_id = $1
