-- Registers a runtime, or updates it and keeps its id and creation time.
INSERT INTO noetl.runtime (
    runtime_id, kind, name, uri, status, labels, capabilities, capacity, runtime, heartbeat,
    created_at, updated_at
)
VALUES ($1, $2, $3, $4, $5, $6::text::json, $7::text::json, $8, $9::text::json, $10, $11, $12)
ON CONFLICT (kind, name) DO UPDATE SET
    uri = excluded.uri,
    status = excluded.status,
    labels = excluded.labels,
    capabilities = excluded.capabilities,
    capacity = excluded.capacity,
    runtime = excluded.runtime,
    heartbeat = excluded.heartbeat,
    updated_at = excluded.updated_at
RETURNING runtime_id, kind, name, uri, status, labels::text AS labels,
    capabilities::text AS capabilities, capacity, runtime::text AS runtime, heartbeat, created_at, updated_at
