-- Deletes runtimes without a recent heartbeat.
DELETE FROM noetl.runtime
WHERE runtime_id IN (
    SELECT runtime_id FROM noetl.runtime WHERE heartbeat < $1 ORDER BY heartbeat LIMIT $2
)
