-- When a value that no log refers to was last given a name: it goes once its names are gone. Nothing
-- for a value that a log refers to, which stays.
ALTER TABLE payload ADD COLUMN loose_since INTEGER;

-- collect_payloads.sql
CREATE INDEX payload_loose ON payload (loose_since) WHERE loose_since IS NOT NULL;

-- collect_payloads.sql
CREATE INDEX result_ref_sha256 ON result_ref (sha256);
