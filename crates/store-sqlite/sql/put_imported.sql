-- Stores an imported execution, replacing an existing row.
INSERT INTO imported_execution (
    execution_id, status, path, path_folded, catalog_id, parent_execution_id, last_at, body
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (execution_id) DO UPDATE SET
    status = excluded.status,
    path = excluded.path,
    path_folded = excluded.path_folded,
    catalog_id = excluded.catalog_id,
    parent_execution_id = excluded.parent_execution_id,
    last_at = excluded.last_at,
    body = excluded.body
