-- Selects one runtime.
SELECT runtime_id, kind, name, uri, status, labels::text AS labels,
    capabilities::text AS capabilities, capacity, runtime::text AS runtime, heartbeat, created_at, updated_at
FROM noetl.runtime
WHERE kind = $1 AND name = $2
