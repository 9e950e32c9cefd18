-- Lists at most ?1 executions whose projected events are not folded yet.
SELECT execution_id
FROM unfolded_import
ORDER BY execution_id
LIMIT +?1
