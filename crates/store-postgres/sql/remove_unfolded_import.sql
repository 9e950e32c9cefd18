DELETE FROM noetl.unfolded_import
WHERE execution_id = $1
