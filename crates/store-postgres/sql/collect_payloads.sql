-- Deletes payloads that only named results, or deleted executions, referred to, once they have no
-- name and no execution refers to them. Naming a payload again updates `loose_since`, so it is kept
-- even if the new name is not visible to this statement.
DELETE FROM noetl.result_store AS store
WHERE
    store.loose_since < $1
    AND (store.execution_id, store.sha256) IN (
        SELECT loose.execution_id, loose.sha256
        FROM noetl.result_store AS loose
        WHERE
            loose.loose_since < $1
            AND NOT EXISTS (
                SELECT FROM noetl.result_ref AS named
                WHERE named.execution_id = loose.execution_id AND named.sha256 = loose.sha256
            )
            -- A lookup by digest avoids a scan of whole partitions.
            AND (
                SELECT true
                FROM noetl.payload_reference AS reference
                WHERE reference.sha256 = loose.sha256
                LIMIT 1
            ) IS NULL
        ORDER BY loose.loose_since
        LIMIT $2
    )
