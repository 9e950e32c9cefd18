-- Selects the snapshot of an execution.
SELECT seq, shape, body FROM snapshot WHERE execution_id = ?1
