-- Selects the digests of $1 that an execution refers to. note_references.sql has stored the references
-- of old events before.
SELECT asked.sha256
FROM unnest($1::bytea[]) AS asked (sha256)
WHERE
    EXISTS (
        SELECT
        FROM noetl.payload_reference AS reference
        WHERE
            reference.sha256 = asked.sha256
            -- A lookup by id avoids a scan of whole partitions.
            AND (
                SELECT true FROM noetl.execution
                WHERE execution.execution_id = reference.execution_id
                LIMIT 1
            )
    )
