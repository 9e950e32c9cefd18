-- Deletes references to payloads; ?1 is a JSON array of [execution id, digest].
DELETE FROM payload_reference
WHERE (execution_id, sha256) IN (
    SELECT value ->> 0, unhex(value ->> 1) FROM json_each(?1)
)
