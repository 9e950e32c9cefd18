-- Locks the execution $1 until the end of the transaction: forks of it and marks on it wait.
SELECT FROM noetl.execution WHERE execution_id = $1 FOR UPDATE
