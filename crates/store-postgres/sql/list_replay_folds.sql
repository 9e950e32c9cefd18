-- Lists the saved replays of execution $1, at most $2.
SELECT projection, seq, shape
FROM noetl.replay_fold
WHERE execution_id = $1
ORDER BY projection, seq
LIMIT $2
