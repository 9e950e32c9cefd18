-- Selects the time since which the oldest never-leased command of pool $1 waits. Reads the rows of
-- the pool in the index of the queue.
SELECT min(created_at) AS created_at
FROM noetl.command
WHERE status = 'ISSUED' AND pool = $1
