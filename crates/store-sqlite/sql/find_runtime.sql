-- Selects one runtime.
SELECT runtime_id, kind, name, uri, status, labels, capabilities, capacity, runtime,
    heartbeat, created_at, updated_at
FROM runtime
WHERE kind = ?1 AND name = ?2
