-- Stores imported executions, replacing existing rows; ?1 is a JSON array of arrays of columns.
INSERT INTO imported_execution (
    execution_id, status, path, path_folded, catalog_id, parent_execution_id, last_at, body
)
SELECT
    value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
    value ->> 7
FROM json_each(?1)
WHERE true
ON CONFLICT (execution_id) DO UPDATE SET
    status = excluded.status,
    path = excluded.path,
    path_folded = excluded.path_folded,
    catalog_id = excluded.catalog_id,
    parent_execution_id = excluded.parent_execution_id,
    last_at = excluded.last_at,
    body = excluded.body
