-- Notes the payloads that events refer to; ?1 is a JSON array of [execution id, digest].
INSERT INTO payload_reference (execution_id, sha256)
SELECT value ->> 0, unhex(value ->> 1) FROM json_each(?1) WHERE true
ON CONFLICT DO NOTHING
