-- Values that only names referred to, once they have none. Whoever gives one a name again makes it
-- younger, so it is then not deleted even if its name came too late to be seen.
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
