-- Lists the runtimes of a kind, by name.
SELECT runtime_id, kind, name, uri, status, labels::text AS labels,
    capabilities::text AS capabilities, capacity, runtime::text AS runtime, heartbeat, created_at, updated_at
FROM noetl.runtime
WHERE kind = $1
ORDER BY name
LIMIT $2
