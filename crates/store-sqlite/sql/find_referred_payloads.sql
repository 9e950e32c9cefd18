-- Selects the digests that an execution refers to; ?1 is a JSON array of digests.
SELECT unhex(asked.value) AS sha256
FROM json_each(?1) AS asked
WHERE EXISTS (
    SELECT 1
    FROM payload_reference AS reference
    CROSS JOIN execution ON execution.execution_id = reference.execution_id
    WHERE reference.sha256 = unhex(asked.value)
)
