-- Digests of events, and executions whose past is another's. Rows from before have no digest.
ALTER TABLE noetl.event ADD COLUMN prev_digest bytea CHECK (length(prev_digest) = 32);

ALTER TABLE noetl.execution
    ADD COLUMN head_digest bytea CHECK (length(head_digest) = 32),
    -- The execution whose events up to `fork_seq` come before this one's own.
    ADD COLUMN fork_execution_id bigint,
    ADD COLUMN fork_seq bigint CHECK (fork_seq > 0);
