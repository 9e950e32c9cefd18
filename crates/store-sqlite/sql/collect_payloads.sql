-- Deletes payloads that only named results, or deleted executions, referred to, once they have no
-- name and no execution refers to them.
DELETE FROM payload
WHERE digest IN (
    SELECT loose.digest
    FROM payload AS loose
    WHERE
        loose.loose_since < ?1
        AND NOT EXISTS (SELECT 1 FROM result_ref AS named WHERE named.sha256 = loose.digest)
        AND NOT EXISTS (
            SELECT 1 FROM payload_reference AS reference WHERE reference.sha256 = loose.digest
        )
    ORDER BY loose.loose_since
    LIMIT +?2
)
