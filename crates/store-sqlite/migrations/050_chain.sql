-- Digests of events, and executions whose past is another's. Rows from before have no digest.
ALTER TABLE event ADD COLUMN prev_digest BLOB CHECK (length(prev_digest) = 32);

ALTER TABLE execution ADD COLUMN head_digest BLOB CHECK (length(head_digest) = 32);

-- The execution whose events up to `fork_seq` come before this one's own.
ALTER TABLE execution ADD COLUMN fork_execution_id INTEGER;
ALTER TABLE execution ADD COLUMN fork_seq INTEGER CHECK (fork_seq > 0);
