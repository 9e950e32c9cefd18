-- When a value that its execution's log does not refer to was last given a name: it goes once its
-- names are gone. Nothing for a value that the log refers to, which stays.
ALTER TABLE noetl.result_store ADD COLUMN IF NOT EXISTS loose_since timestamptz;

-- collect_payloads.sql
CREATE INDEX IF NOT EXISTS result_store_loose
ON noetl.result_store (loose_since) WHERE loose_since IS NOT NULL;
