-- Deletes payloads that only named results referred to, once they have no name. Naming a payload
-- again updates `loose_since`, so it is kept even if the new name is not visible to this statement.
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
        ORDER BY loose.loose_since
        LIMIT $2
    )
