-- Lists the runtimes of a kind, by name.
SELECT runtime_id, kind, name, uri, status, labels, capabilities, capacity, runtime,
    heartbeat, created_at, updated_at
FROM runtime
WHERE kind = ?1
ORDER BY name
LIMIT +?2
