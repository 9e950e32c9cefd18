-- Stores imported executions, replacing existing rows.
INSERT INTO noetl.imported_execution (
    execution_id, status, path, path_folded, catalog_id, parent_execution_id, last_at, body
)
SELECT
    execution_id, status, path, path_folded, catalog_id, parent_execution_id, last_at, body::json
FROM unnest(
    $1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::timestamptz[],
    $8::text[]
) AS new (execution_id, status, path, path_folded, catalog_id, parent_execution_id, last_at, body)
ON CONFLICT (execution_id) DO UPDATE SET
    status = excluded.status,
    path = excluded.path,
    path_folded = excluded.path_folded,
    catalog_id = excluded.catalog_id,
    parent_execution_id = excluded.parent_execution_id,
    last_at = excluded.last_at,
    body = excluded.body
